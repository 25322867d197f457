// The ways to move records in bulk that are compared: through a gateway, and into and out of a FHIR server without one.
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import '../test/harness/typescript.js'
import { startHapi } from '../test/hapi/launcher.js'
import { serializeLines } from './bulk-records.js'

/** How often a job is polled until it ends. */
const pollIntervalMs = 250

const json = { 'content-type': 'application/fhir+json' }

/**
 * Options of the benchmarks of bulk jobs: where HAPI stores records, `h2` or `postgresql`; or a HAPI that runs already,
 * and its process id, to measure its processor time.
 */
export const hapiOptions = {
  database: { type: 'string', default: 'postgresql' },
  fhir: { type: 'string' },
  'fhir-pid': { type: 'string' }
}

/**
 * A HAPI with room for a hundred thousand records, with the compiler flags of a server that runs for long; or the one
 * that runs already.
 */
export async function openHapi ({ database, fhir: url, 'fhir-pid': pid }) {
  if (url !== undefined) return { url, pid, stop: async () => {} }
  if (!['h2', 'postgresql'].includes(database)) throw new Error('--database is h2 or postgresql')
  const store = database === 'h2' ? { settings: {}, stop: async () => {} } : await openPostgres()
  const hapi = await startHapi({
    log: console.error,
    said: () => {},
    settings: store.settings,
    jvm: ['-Xmx4g', '-XX:TieredStopAtLevel=4']
  })
  return {
    ...hapi,
    stop: async () => {
      await hapi.stop()
      await store.stop()
    }
  }
}

/** A PostgreSQL with an empty database for HAPI, as an operator would run it. */
async function openPostgres () {
  const { startPostgres } = await import('../test/harness/postgres.ts')
  const endings = []
  const { createDatabase } = await startPostgres({ teardown: ending => endings.push(ending) })
  const { hostname, port, pathname, username, password } = new URL(await createDatabase())
  const user = new URLSearchParams({ user: decodeURIComponent(username), password: decodeURIComponent(password) })
  return {
    settings: { db: `jdbc:postgresql://${hostname}:${port}${pathname}?${user}` },
    stop: async () => { for (const ending of endings) await ending() }
  }
}

/** Loads records into a FHIR server in transactions, several at a time. */
export async function loadByTransactions (fhirUrl, records, { size = 200, atOnce }) {
  const sendBatches = async () => {
    for (let taken; (taken = take(records, size)).length > 0;) await sendTransaction(fhirUrl, taken)
  }
  await Promise.all(Array.from({ length: atOnce }, sendBatches))
}

async function sendTransaction (fhirUrl, records) {
  const entry = records.map(resource => ({
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` }
  }))
  await fetchSuccessfully(fhirUrl, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
  })
}

function take (records, maxCount) {
  const taken = []
  while (taken.length < maxCount) {
    const { value, done } = records.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

/** Loads records into a FHIR server by its native `$import`, from a file of each type. */
export async function loadByNativeImport (fhirUrl, records, { size = 500 } = {}) {
  const files = {}
  for (const record of records) (files[record.resourceType] ??= []).push(record)
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/fhir+ndjson')
    for (const chunk of serializeLines(files[request.url.slice(1)])) response.write(chunk)
    response.end()
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    const base = `http://127.0.0.1:${server.address().port}`
    const parameter = [
      { name: 'inputFormat', valueCode: 'application/fhir+ndjson' },
      {
        name: 'storageDetail',
        part: [
          { name: 'type', valueCode: 'https' },
          { name: 'maxBatchResourceCount', valueInteger: size }
        ]
      },
      ...Object.keys(files).map(type => ({
        name: 'input',
        part: [
          { name: 'type', valueCode: type },
          { name: 'url', valueUri: `${base}/${type}` }
        ]
      }))
    ]
    await runNativeJob(`${fhirUrl}/$import`, parameter)
  } finally {
    server.close()
  }
}

/**
 * Exports a tenant's records by a FHIR server's native `$export` and fetches its files. @returns the number of lines
 */
export async function exportDirectly (fhirUrl, tenantId, types) {
  const parameter = [
    { name: '_outputFormat', valueString: 'application/fhir+ndjson' },
    { name: '_type', valueString: types.join(',') },
    ...types.map(type => ({ name: '_typeFilter', valueString: `${type}?_tag=urn:clinigate:tenant|${tenantId}` }))
  ]
  const { output } = await (await runNativeJob(`${fhirUrl}/$export`, parameter)).json()
  let lines = 0
  for (const { url } of output) lines += await countLines(url, { accept: 'application/fhir+ndjson' })
  return lines
}

/** Starts a job of the FHIR server and polls it until it ends. */
async function runNativeJob (url, parameter) {
  const begun = await fetchSuccessfully(url, {
    method: 'POST',
    headers: { prefer: 'respond-async', ...json },
    body: JSON.stringify({ resourceType: 'Parameters', parameter })
  })
  for (;;) {
    const response = await fetchSuccessfully(begun.headers.get('content-location'), {})
    if (response.status === 200) return response
    await response.arrayBuffer()
    await pause(pollIntervalMs)
  }
}

/** Imports records through a gateway. @returns the job in its final state */
export async function importThrough (gateway, records) {
  const body = ReadableStream.from(serializeLines(records))
  return await runGatewayJob(gateway, 'import', {
    headers: { 'content-type': 'application/fhir+ndjson' },
    body,
    duplex: 'half'
  })
}

/** Exports records through a gateway and fetches the files. @returns the number of lines */
export async function exportThrough (gateway, resourceTypes) {
  const { files } = await runGatewayJob(gateway, 'export', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceTypes })
  })
  let lines = 0
  for (const { url } of files) lines += await countLines(url, { 'x-api-key': gateway.secret })
  return lines
}

async function runGatewayJob ({ url, secret }, kind, { headers, ...request }) {
  const begun = await fetchSuccessfully(`${url}/v1/bulk/${kind}`, {
    method: 'POST',
    headers: { 'x-api-key': secret, ...headers },
    ...request
  })
  const { data: { jobId } } = await begun.json()
  for (;;) {
    const response = await fetch(`${url}/v1/bulk/jobs/${jobId}`, { headers: { 'x-api-key': secret } })
    if (response.status === 503) {
      // On a small machine that is busy, a gateway may be too slow to respond.
      await response.arrayBuffer()
      await pause(pollIntervalMs)
      continue
    }
    const { data: job } = await (await requireSuccess(response)).json()
    if (job.status === 'completed' && job.failedRecords === 0) return job
    if (!['pending', 'processing'].includes(job.status)) {
      throw new Error(`the job ended as ${JSON.stringify(job).slice(0, 500)}`)
    }
    await pause(pollIntervalMs)
  }
}

async function countLines (url, headers) {
  const { body } = await fetchSuccessfully(url, { headers })
  let lines = 0
  let last = 0x0a
  for await (const chunk of body) {
    for (let at = -1; (at = chunk.indexOf(0x0a, at + 1)) >= 0;) lines++
    if (chunk.length > 0) last = chunk.at(-1)
  }
  return last === 0x0a ? lines : lines + 1
}

async function fetchSuccessfully (url, request) {
  return await requireSuccess(await fetch(url, request))
}

/** @throws {Error} for a response that is not successful */
async function requireSuccess (response) {
  if (!response.ok) {
    throw new Error(
      `${new URL(response.url).pathname} was answered with ${response.status}: ${(await response.text()).slice(0, 300)}`
    )
  }
  return response
}
