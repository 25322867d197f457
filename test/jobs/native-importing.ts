import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import fastify from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { Spool } from '../../src/jobs/storage/files.js'
import { sourcesFile, type Source, type SourceRules } from '../../src/jobs/import/fetch-sources.js'
import { createImportHandler, indexFile } from '../../src/jobs/import/import-job.js'
import { IndexFile } from '../../src/jobs/import/index-file.js'
import { ImportFileServer, importFileRoute } from '../../src/jobs/import/native/file-server.js'
import { ResultCipher } from '../../src/jobs/import/result.js'
import type { JobFiles } from '../../src/jobs/job-context.js'
import type { Job } from '../../src/jobs/model/job.js'
import type { RecordUse } from '../../src/limits/record-quota.js'
import { createCursors } from '../../src/tenant-guard/cursor.js'
import type { TenantContext, Incident } from '../../src/tenant-guard/tenant-context.js'
import { createImportStore, type ImportStore } from '../../src/tenant-guard/import/import-store.js'
import { createNativeImport, type NativeImport } from '../../src/tenant-guard/import/native-import.js'
import { createOwnershipCache } from '../../src/tenant-guard/ownership.js'
import { findFreePort } from '../harness/free-port.js'
import { startTestSandbox } from '../harness/sandbox.js'

/** Records that refer to each other, in cycles, to nothing, and unreadable ones. */
export const buildMixedLines = (count: number): unknown[] => [...Array(count).keys()].map(at => {
  if (at % 90 === 5) return { resourceType: 'Patient', id: 7 }
  if (at % 90 === 6) {
    return {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      subject: { reference: 'Patient/nobody' }
    }
  }
  if (at % 30 === 0) {
    return {
      resourceType: 'Patient',
      id: `p${at}`,
      link: [{ other: { reference: `Patient/p${at + 3}` }, type: 'seealso' }]
    }
  }
  if (at % 30 === 3) {
    return {
      resourceType: 'Patient',
      id: `p${at}`,
      link: [{ other: { reference: `Patient/p${at - 3}` }, type: 'seealso' }]
    }
  }
  if (at % 3 === 0) return { resourceType: 'Patient', id: `p${at}`, name: [{ family: `N${at}` }] }
  return {
    resourceType: 'Observation',
    ...(at % 2 === 0 && { id: `o${at}` }),
    status: 'final',
    code: { text: 'weight' },
    subject: { reference: `Patient/p${at - (at % 3)}` }
  }
})

const died = new Error('the process died')
/** The same for all runs of one organization. */
const deriveIdentityKey = (tenantId: string): string => createHash('sha256').update(tenantId).digest('base64')

/** One import through a datastore's native import, which can be interrupted at any step. */
export interface NativeScene {
  /** The files of the job. */
  readonly files: JobFiles
  /** Works on the job until it ends, or until so many steps are done: then the process dies. */
  readonly run: (breaksAt?: number, signal?: AbortSignal) => Promise<'ended' | 'broken off'>
  readonly readResults: () => ReadonlyArray<{
    readonly line: number
    readonly status: string
    readonly id?: string
    readonly code?: string
    readonly message?: string
  }>
  /** Counted usage: records by the kind of their response. */
  readonly counted: readonly RecordUse[]
  /** Records that are taken from the monthly quota and were neither counted nor given back. */
  readonly held: () => number
  readonly countRecords: (type: string) => Promise<number>
  /** The number of records that were written by transactions. */
  readonly written: () => number
  /** The number of imports that were requested of the datastore. */
  readonly begun: () => number
  readonly offers: ImportFileServer
}

export interface NativeSceneSettings {
  readonly fhirUrl: string
  readonly lines?: readonly unknown[]
  /** The sources in place of `lines`, and the rules for fetching them. */
  readonly fetched?: { readonly sources: readonly Source[], readonly rules: SourceRules }
  /** By transactions alone. */
  readonly isUsual?: boolean
  readonly tenantId?: string
  readonly max?: number
  readonly dryRun?: boolean
  /** Throws when too little disk space is left for the index. */
  readonly requireRoom?: JobFiles['requireRoom']
  /** Wraps the input when the import reads it from the start. */
  readonly reading?: (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>
}

export async function startNativeScene (
  t: Test,
  {
    fhirUrl,
    lines = [],
    fetched,
    isUsual = false,
    tenantId = 't-native',
    max = 1_000,
    dryRun = false,
    reading,
    requireRoom = async () => {}
  }: NativeSceneSettings
): Promise<NativeScene> {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
  const backend = new HttpBackend({ name: 'native', baseUrl: fhirUrl })
  const { offers, close } = await listen(url => new ImportFileServer(url))
  t.after(async () => {
    await backend.close()
    await close()
    rmSync(directory, { recursive: true, force: true })
  })
  const spool = new Spool({ directory, reserveBytes: 0 })
  const { files, ...made } = await spool.begin()
  const writer = await files.write(fetched === undefined ? 'input' : sourcesFile)
  await writer.write(
    Buffer.from(
      fetched === undefined ? lines.map(line => `${JSON.stringify(line)}\n`).join('') : JSON.stringify(fetched.sources)
    )
  )
  await writer.close()
  const owner = { tenantId, mode: 'test', keyId: 'k', keyName: 'k', plan: 'pro', overage: false } as const
  const state = { bytes: writer.bytes, mark: writer.mark, lines: lines.length }
  let job: Job = {
    ...made,
    checkpoint: fetched === undefined ? { input: state } : { sources: state },
    owner,
    status: 'processing',
    request: { kind: 'import', dryRun, url: 'http://gateway.test' },
    progress: { processed: 0, failed: 0 },
    files: [],
    errors: [],
    createdAt: '2030-01-01T00:00:00.000Z',
    expiresAt: '2030-01-02T00:00:00.000Z'
  }
  const counted: RecordUse[] = []
  const counts = { held: 0, written: 0, begun: 0 }
  const incidents: Incident[] = []
  const createContext = (): TenantContext => ({
    backend,
    tenant: { id: tenantId, system: 'urn:clinigate:tenant' },
    mode: 'test',
    ownership: createOwnershipCache(),
    cursors: createCursors({ key: Buffer.alloc(32, 1), now: () => new Date() }),
    fhirBase: 'http://gateway.test/v1/fhir',
    onIncident: incident => {
      incidents.push(incident)
    },
    onError: () => {}
  })

  const run: NativeScene['run'] = async (breaksAt = Infinity, signal = new AbortController().signal) => {
    let left = breaksAt
    const step = (): void => {
      if (--left < 0) throw died
    }
    const taken = new Set<object>()
    const store = createImportStore(createContext())
    const breaking: ImportStore = {
      ...store,
      fetchStored: async request => {
        step()
        return await store.fetchStored(request)
      },
      findRejected: async (records, others) => {
        step()
        return await store.findRejected(records, others)
      },
      write: async records => {
        step()
        counts.written += records.length
        const together = await store.write(records)
        step()
        return together
      }
    }
    const native = createNativeImport(createContext())
    const breakingNative: NativeImport = {
      begin: async offered => {
        step()
        const begun = await native.begin(offered)
        if (begun !== undefined) counts.begun++
        step()
        return begun
      },
      hasEnded: async location => {
        step()
        return await native.hasEnded(location)
      }
    }
    const createQuota = () => ({
      take: () => {
        const reservation = {
          at: '2030-01-01T00:00:00.000Z',
          isOverage: false,
          refund: () => {
            taken.delete(reservation)
          }
        }
        taken.add(reservation)
        return reservation
      },
      count: (uses: readonly RecordUse[]) => {
        for (const { reservation } of uses) taken.delete(reservation)
        counted.push(...uses.filter(({ status }) => status < 500))
      }
    })
    const parts = { store: breakingNative, offers, bounds: { min: 1, max } }
    const doJob = createImportHandler({
      importHosts: [],
      ...fetched?.rules,
      storeFor: () => breaking,
      ...(!isUsual && { nativePartsFor: () => parts }),
      jobs: { identityKey: async () => deriveIdentityKey(tenantId) },
      quotaFor: createQuota,
      lineBytes: 1_000_000
    })
    const stored = spool.getJobFiles(job)
    const read: JobFiles['read'] = (name, range) => {
      const chunks = stored.read(name, range)
      return reading === undefined || name !== 'input' || range?.start !== 0
        ? chunks
        : Readable.from(reading(chunks), { objectMode: false })
    }
    try {
      await doJob({
        job,
        files: { ...stored, read, requireRoom },
        signal,
        save: async change => {
          job = { ...job, ...change }
        },
        log: pino({ level: 'silent' })
      })
      return 'ended'
    } catch (error) {
      if (left < 0) return 'broken off'
      throw error
    } finally {
      counts.held = taken.size
    }
  }
  const readResults: NativeScene['readResults'] = () => {
    const index = new IndexFile(spool.getJobFiles(job).path(indexFile))
    const seal = new ResultCipher(job.fileKey)
    const rows = index
      .listResultRows(0, 100_000)
      .map(({ line, result }) => ({ line, ...(result === null ? { status: 'pending' } : seal.open(line, result)) }))
    index.close()
    return rows
  }
  const countRecords = async (type: string): Promise<number> =>
    JSON.parse(
      (
        await backend.send({
          method: 'GET',
          path: `${type}?_tag=urn:clinigate:tenant%7C${tenantId}&_summary=count`,
          headers: { 'cache-control': 'no-cache' }
        })
      ).body
    ).total
  return {
    files,
    run,
    readResults,
    counted,
    held: () => counts.held,
    countRecords,
    written: () => counts.written,
    begun: () => counts.begun,
    offers
  }
}

/** Serves the files to the datastore; a request without a valid URL and password gets nothing. */
async function listen (
  offers: (url: string) => ImportFileServer
): Promise<{ readonly offers: ImportFileServer; readonly close: () => Promise<void> }> {
  const port = await findFreePort()
  const made = offers(`http://127.0.0.1:${port}`)
  const app = fastify()
  app.setErrorHandler((error: { status?: number }, _, reply) => reply.code(error.status ?? 500).send())
  await importFileRoute(app, made)
  await app.listen({ host: '127.0.0.1', port })
  return {
    offers: made,
    close: async () => {
      app.server.closeAllConnections()
      await app.close()
    }
  }
}

/** What a datastore does with a requested import and the lines that it fetched. */
export type NativeManner = (
  lines: readonly string[],
  store: (line: string) => Promise<unknown>
) => Promise<{ readonly status: number } | undefined>

/** A sandbox with a native `$import`. @param manner returns the response to its end; undefined where it offers none */
export async function startNativeDatastore (
  t: Test,
  manner: NativeManner | undefined
): Promise<{ readonly url: string; readonly fetched: string[] }> {
  const sandbox = await startTestSandbox(t)
  const { origin, pathname } = new URL(sandbox.url)
  const fetched: string[] = []
  const ends: Array<Promise<{ readonly status: number } | undefined>> = []
  const store = async (line: string): Promise<unknown> => {
    const { resourceType, id } = JSON.parse(line) as { resourceType: string; id: string }
    return await fetch(`${sandbox.url}/${resourceType}/${id}`, {
      method: 'PUT',
      body: line,
      headers: { 'content-type': 'application/fhir+json' }
    })
  }
  const begin = async (body: string): Promise<{ readonly status: number } | undefined> => {
    const { parameter } = JSON.parse(body) as {
      parameter: Array<{ name: string; part: Array<{ name: string; valueUri?: string; valueString?: string }> }>
    }
    const credentials = parameter
      .find(({ name }) => name === 'storageDetail')!
      .part.find(({ name }) => name === 'credentialHttpBasic')!.valueString!
    const lines: string[] = []
    for (const { part } of parameter.filter(({ name }) => name === 'input')) {
      const response = await fetch(part.find(({ name }) => name === 'url')!.valueUri!, {
        headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
      })
      if (response.status !== 200) return { status: 500 }
      lines.push(...(await response.text()).split('\n').filter(line => line !== ''))
    }
    fetched.push(...lines)
    return await manner!(lines, store)
  }
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    const jobMatch = /_jobId=(\d+)/.exec(request.url!)
    if (jobMatch !== null) {
      const end = await Promise.race([ends[Number(jobMatch[1])]!.catch(() => ({ status: 500 })), pause(5)])
      return response
        .writeHead(end?.status ?? 202, { 'content-type': 'application/json+fhir; charset=UTF-8' })
        .end('{"resourceType":"OperationOutcome"}')
    }
    if (request.method === 'POST' && request.url!.endsWith('$import') && manner !== undefined) {
      const at = ends.push(begin(body)) - 1
      ends[at]!.catch(() => {})
      return response
        .writeHead(202, {
          'content-location': `http://${request.headers.host}${pathname}/$import-poll-status?_jobId=${at}`,
          'content-type': 'application/json+fhir; charset=UTF-8'
        })
        .end('{"resourceType":"OperationOutcome"}')
    }
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(
        ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'].includes(name)
      )
    ) as Record<string, string>
    const received = await fetch(`${origin}${request.url!}`, {
      method: request.method!,
      headers,
      ...(body !== '' && { body })
    })
    response
      .writeHead(received.status, { 'content-type': received.headers.get('content-type') ?? 'application/fhir+json' })
      .end(await received.text())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname.replace(/\/$/, '')}`, fetched }
}
