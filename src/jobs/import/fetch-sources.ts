import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { Failure } from '../../envelope/failures.js'
import { requireLines } from '../../files/line-files.js'
import { AddressRefused, createCheckedConnector, type AddressRules } from '../../net/checked-connection.js'
import { toFileState } from '../job-context.js'
import { corruptFile } from '../storage/storage-errors.js'
import { decompress } from './decompress.js'
import {
  getImportCheckpoint, inputFile, type ImportCheckpoint, type ImportContext, type InputState
} from './import-context.js'
import { LineCount, newline, withoutBom } from './lines.js'

/** A URL that lines of an import are fetched from, and the type of lines without one. The URL may contain a secret. */
export interface Source { readonly type: string | null, readonly url: string }

/**
 * The file of a job that holds its {@link Source}s until they are fetched; absent if the input came with the request.
 */
export const sourcesFile = 'sources'

const maxTries = 5
const firstPauseMs = 1_000

/** The parts of an import that fetching needs. */
type FetchParts = Pick<ImportContext, 'work' | 'index' | 'signal'>

/**
 * Fetches all sources of an import, one after the other, into its input, except those completely fetched before.
 * @returns the input
 */
export async function fetchSources (context: FetchParts, rules: SourceRules): Promise<InputState> {
  const { work: { files, job, save }, index } = context
  const { sources, parts = 0, ...before } = getImportCheckpoint(job)
  let input = before.input
  if (sources !== undefined) {
    const list = await json(files.read(sourcesFile, { end: sources.bytes, state: sources })) as readonly Source[]
    for (const [number, source] of list.entries()) {
      if (number < parts) continue
      index.begin({ number, at: input?.bytes ?? 0, type: source.type })
      input = await fetchOne(context, rules, { source, number, after: input })
      index.commit()
      await save({ checkpoint: { input, sources, parts: number + 1 } satisfies ImportCheckpoint })
    }
    await save({ checkpoint: { input: input!, parts: list.length } satisfies ImportCheckpoint })
    await files.remove(sourcesFile)
  }
  if (input === undefined) throw corruptFile('the input of an import is unknown')
  return input
}

/** A source, its number, and the input before it. */
interface SourceLocation { readonly source: Source, readonly number: number, readonly after: InputState | undefined }

/** @returns the input including the fetched source */
async function fetchOne (context: FetchParts, rules: SourceRules, sourceLocation: SourceLocation): Promise<InputState> {
  const { signal, work: { log } } = context
  for (let tries = 1; ; tries++) {
    try {
      return await copy(context, rules, sourceLocation)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof SourceError) throw sourceNotFetched(sourceLocation, error.message)
      if (error instanceof Failure) throw error
      // Network error messages may contain the address.
      log.warn(
        { source: sourceLocation.number + 1, code: (error as NodeJS.ErrnoException).code },
        'a source of an import could not be fetched'
      )
      if (tries === maxTries) throw sourceNotFetched(sourceLocation, 'it cannot be reached')
      await pause(firstPauseMs * 2 ** (tries - 1), undefined, { signal })
    }
  }
}

async function copy (
  { work: { files }, signal }: FetchParts,
  rules: SourceRules,
  { source, after }: SourceLocation
): Promise<InputState> {
  const at = after?.bytes ?? 0
  const writer = await files.write(inputFile, at, after?.mark)
  const count = new LineCount()
  try {
    const refuse = (reason: string): SourceError => new SourceError(reason)
    for await (const chunk of requireLines(fetchSource(source.url, rules, signal), { refuse })) {
      count.add(chunk)
      await writer.write(writer.bytes === at ? withoutBom(1, chunk) : chunk)
    }
    if (!count.isEnded) await writer.write(Buffer.of(newline))
  } finally {
    await writer.close()
  }
  return { ...toFileState(writer), lines: (after?.lines ?? 0) + count.lines, blank: (after?.blank ?? 0) + count.blank }
}

function sourceNotFetched ({ number }: SourceLocation, message: string): Failure {
  return new Failure('BAD_REQUEST', { message: `Source ${number + 1} could not be fetched: ${message}.` })
}

/** The hosts that imports may fetch from, and the limits of a source. */
export interface SourceRules extends Pick<AddressRules, 'trial'> {
  /** Host names, with a port where it is not 443. */
  readonly importHosts: readonly string[]
  /** The maximum size of a source in bytes, and the maximum time to fetch it. */
  readonly sourceBytes?: number
  readonly sourceMs?: number
}

const defaults = { sourceBytes: 64 * 1024 ** 3, sourceMs: 6 * 3_600_000 }
const connectMs = 10_000
const idleTimeoutMs = 60_000

/** A source that can't be fetched for a reason that the client has to fix; the message contains no address. */
export class SourceError extends Error {
  constructor (message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'SourceError'
  }
}

/** The URL of a source, if the rules allow fetching it. @throws {SourceError} */
export function parseSourceUrl (text: string, { importHosts }: SourceRules): URL {
  if (!URL.canParse(text)) throw new SourceError('the URL is not valid')
  const url = new URL(text)
  if (url.protocol !== 'https:') throw new SourceError('the URL must begin with https')
  if (url.username !== '' || url.password !== '') throw new SourceError('the URL must not contain credentials')
  if (!importHosts.some(host => host.toLowerCase() === url.host)) {
    throw new SourceError('the operator has not allowed this host')
  }
  return url
}

/**
 * The content of a source, in chunks. The name is resolved once, and the connection goes to that address; certificates
 * are verified, redirects are not followed.
 * @throws {SourceError} when the source is at fault, and other errors when a retry may help
 */
export async function * fetchSource (text: string, rules: SourceRules, jobSignal: AbortSignal): AsyncGenerator<Buffer> {
  const url = parseSourceUrl(text, rules)
  const { sourceBytes = defaults.sourceBytes, sourceMs = defaults.sourceMs, trial } = rules
  const agent = new Agent({
    connections: 1,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    connect: createCheckedConnector({ trial }, connectMs)
  })
  try {
    const signal = AbortSignal.any([jobSignal, AbortSignal.timeout(sourceMs)])
    const { statusCode, headers, body } = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: {
        accept: 'application/fhir+ndjson, application/x-ndjson, application/ndjson;q=0.9, */*;q=0.1',
        'accept-encoding': 'gzip, identity'
      },
      signal
    })
    requireContent(statusCode)
    let size = 0
    for await (const chunk of decompress(
      body as AsyncIterable<Buffer>,
      String(headers['content-encoding'] ?? 'identity')
    )) {
      size += chunk.length
      if (size > sourceBytes) throw new SourceError('it is too large')
      yield chunk
    }
  } catch (error) {
    throw error instanceof Failure || error instanceof AddressRefused ? new SourceError(error.message) : error
  } finally {
    await agent.destroy()
  }
}

function requireContent (status: number): void {
  if (status === 200) return
  if (status >= 300 && status < 400) throw new SourceError('it redirects to another address; use that address')
  if (status === 429 || status >= 500) throw new Error('the source failed', { cause: { status } })
  throw new SourceError(`it answered with status ${status}`)
}
