import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { buildMain, getProcessEnvironment } from '../harness/built.js'
import { startWatched, type WatchedBackend } from '../harness/recording-backend.js'
import { withoutOverloadLimits } from '../sync/control-plane.js'

/** A gateway process, as `npm start` starts one. */
async function startProcess (t: Test, main: string, environment: Record<string, string>) {
  const child = spawn(process.execPath, [main], {
    env: { ...getProcessEnvironment(), HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent', ...environment },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const ended = once(child, 'close')
  t.after(() => { child.kill('SIGKILL') })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', chunk => { output += chunk })
  while (!/listens on \S+\n/.test(output)) {
    if (child.exitCode !== null) throw new Error('the process ended at its start')
    await pause(20)
  }
  return {
    url: /listens on (\S+)\n/.exec(output)![1]!,
    key: /svc_test_\w+/.exec(output)?.[0],
    kill: async () => { child.kill('SIGKILL'); await ended }
  }
}

/** The guarantees of an Idempotency-Key when the process is killed, on every FHIR server. */
export async function testCrashes (t: Test, fhirUrl: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-crash-'))
  const backend = await startWatched(fhirUrl)
  t.after(async () => {
    await backend.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const environment = withoutOverloadLimits(t, {
    CLINIGATE_DATA: directory,
    FHIR_TEST_URL: backend.url,
    FHIR_LIVE_URL: backend.url
  })
  const main = buildMain()
  const first = await startProcess(t, main, environment)
  const send = async (
    url: string,
    { method = 'GET', path, key, body }: { method?: string; path: string; key?: string; body?: unknown }
  ) => {
    const headers = {
      'x-api-key': first.key!,
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' })
    }
    const response = await fetch(`${url}/v1/${path}`, { method, headers, body: JSON.stringify(body) })
    return {
      status: response.status,
      isReplayed: response.headers.get('idempotent-replayed') === 'true',
      data: ((await response.json()) as { data: any }).data
    }
  }
  /** Kills the process once the datastore has the request, or has responded to it. */
  const killDuring = async (
    { url, kill }: typeof first,
    what: Parameters<WatchedBackend['hold']>[0],
    request: { method: string; path: string; key: string; body: unknown }
  ) => {
    const held = backend.hold(what, request.method === 'POST' ? 'POST' : 'PUT')
    const sent = send(url, request)
    const broken = sent.then(
      () => false,
      () => true
    )
    const heldRequest = await held
    await kill()
    t.equal(await broken, true, 'the client gets no answer')
    return heldRequest
  }
  const countPatients = async (url: string): Promise<number> => (await send(url, { path: 'patients' })).data.total

  const create = {
    method: 'POST',
    path: 'patients',
    key: 'create',
    body: { firstName: 'Ada', lastName: 'Byron', identifiers: [{ value: '0' }] }
  }
  await killDuring(first, 'answer', create)
  const second = await startProcess(t, main, environment)
  const made = await send(second.url, create)
  t.match(
    made,
    { status: 201, isReplayed: true, data: { versionId: '1', firstName: 'Ada' } },
    'killed after the datastore stored the record'
  )
  t.equal(await countPatients(second.url), 1)

  const change = {
    method: 'PATCH',
    path: `patients/${made.data.id}`,
    key: 'change',
    body: [{ op: 'add', path: '/identifiers/-', value: { value: '1' } }]
  }
  await killDuring(second, 'answer', change)
  const third = await startProcess(t, main, environment)
  const changed = await send(third.url, change)
  t.match(
    changed,
    { status: 200, isReplayed: true, data: { identifiers: { length: 2 } } },
    'killed after the datastore stored the change'
  )
  t.strictSame((await send(third.url, { path: change.path })).data, changed.data)

  const another = { ...create, key: 'another' }
  const heldRequest = await killDuring(third, 'request', another)
  const fourth = await startProcess(t, main, environment)
  t.match(
    await send(fourth.url, another),
    { status: 201, isReplayed: false },
    'killed before the datastore had the request'
  )
  t.equal((await heldRequest.pass()).status, 200, 'what it sent arrives now and stores nothing')
  t.equal(await countPatients(fourth.url), 2)
  t.match(await send(fourth.url, another), { status: 201, isReplayed: true })
  await fourth.kill()
}
