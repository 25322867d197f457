import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { listDataFiles } from '../harness/data-files.js'
import { dumpControlDatabase } from '../harness/dump.js'
import { startGateway } from '../harness/gateway.js'
import { fhirBase, createFhirSender } from '../passthrough/fixture.js'
import { createFault, requireComplete, startScene } from '../tenant-guard/exporting-scene.js'
import { createExporter, type Exporter } from './exporting.js'
import { createJobMaker } from './job-fixtures.js'

// A file of the datastore's native export whose connection broke between two lines, and which had no length, was taken
// for complete: the export ended without the rest.
const cutOff = ({ files }: Awaited<ReturnType<typeof startScene>>['server'], times: number) =>
  createFault(/^\/Binary\/0/, times, response => {
    response.writeHead(200, { 'content-type': 'application/fhir+ndjson', connection: 'close' })
    response.useChunkedEncodingByDefault = false
    response.end(`${files[0]!.lines.slice(0, 300).join('\n')}\n`)
  })

t.test(
  'a file with fewer lines than the manifest says is exported again, and where it stays so the records are searched',
  async t => {
    for (const times of [1, 2]) {
      const made = await startScene(t)
      const { server, job } = made
      server.output = url =>
        server.files.map(({ type, lines }, at) => ({ type, url: `${url}/Binary/${at}`, count: lines.length }))
      server.fault = cutOff(server, times)
      t.equal(await job.run(), 'ended')
      requireComplete(t, made)
      t.equal(server.seen.filter(({ method }) => method === 'POST').length, times + 1, 'the export was started again')
    }
    const { server, job } = await startScene(t)
    server.output = url =>
      server.files.map(({ type, lines }, at) => ({ type, url: `${url}/Binary/${at}`, count: lines.length }))
    server.fault = cutOff(server, Infinity)
    await job.run().catch(() => {})
    t.ok(
      server.seen.some(
        ({ method, path }) => method === 'GET' && /^\/Patient\?/.test(path) && !path.includes('_count=0')
      ),
      'the records are searched'
    )
  }
)

t.test('a cancelled export is cancelled at the datastore too, though the gateway that worked on it is gone', async t => {
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(`${request.method!} ${request.url!}`)
    response.writeHead(202, { 'content-type': 'application/fhir+json' }).end('{"resourceType":"OperationOutcome"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => { server.closeAllConnections(); server.close() })
  const gateway = await startGateway(t, { fhirUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir` })
  const { secret, tenantId } = await gateway.createKey()
  const make = createJobMaker(gateway.control, gateway.dataDirectory)
  const owner = { tenantId, mode: 'test' } as const
  const remove = (url: string) => gateway.inject({ method: 'DELETE', url, headers: { 'x-api-key': secret } })
  const countDeletes = (jobPath: string) => requested.filter(request => request === `DELETE /fhir/${jobPath}`).length
  const createJob = async (jobPath: string, more = {}) =>
    await make({
      owner,
      checkpoint: {
        position: {
          asOf: '2030-01-01T00:00:00Z',
          types: ['Patient'],
          walked: 0,
          own: { job: jobPath, file: 0, lines: 0, begun: 1 }
        },
        written: []
      },
      ...more
    })

  const raw = await createJob('$export-poll-status?_jobId=1')
  t.equal((await remove(`/v1/fhir/_export/${raw.id}`)).statusCode, 202)
  const simple = await createJob('$export-poll-status?_jobId=2')
  t.equal((await remove(`/v1/bulk/jobs/${simple.id}`)).statusCode, 200)
  const ended = await createJob('$export-poll-status?_jobId=3', { end: { status: 'completed' } })
  t.equal((await remove(`/v1/fhir/_export/${ended.id}`)).statusCode, 202)
  const foreign = await make({
    owner: { tenantId: await gateway.createOrganization(), mode: 'test' },
    checkpoint: {
      position: {
        asOf: '',
        types: [],
        walked: 0,
        own: { job: '$export-poll-status?_jobId=4', file: 0, lines: 0, begun: 1 }
      },
      written: []
    }
  })
  t.equal((await remove(`/v1/fhir/_export/${foreign.id}`)).statusCode, 404)
  while (countDeletes('$export-poll-status?_jobId=1') === 0 || countDeletes('$export-poll-status?_jobId=2') === 0) await pause(10)
  t.equal(countDeletes('$export-poll-status?_jobId=3'), 0, 'one that ended needs no end')
  t.equal(countDeletes('$export-poll-status?_jobId=4'), 0, 'nobody ends another organization\'s')
})

const filter = 'Patient?identifier=urn:ssn|123-45-6789&family=Secretname'
const secrets = /123-45-6789|Secretname|%7C123|ecretnam/
const lenient = { prefer: 'respond-async, handling=lenient' }
const patient = {
  resourceType: 'Patient',
  identifier: [{ system: 'urn:ssn', value: '123-45-6789' }],
  name: [{ family: 'Secretname' }]
}

/** Export requests, with the URL that their manifest must state. */
const exports: ReadonlyArray<{ readonly request: Parameters<Exporter['runExport']>; readonly url: string }> = [
  {
    request: [`/$export?_type=Patient&_typeFilter=${encodeURIComponent(filter)}`],
    url: `/$export?_type=Patient&_typeFilter=${encodeURIComponent(filter)}`
  },
  {
    request: [
      '/$export',
      {
        resourceType: 'Parameters',
        parameter: [
          { name: '_type', valueString: 'Patient' },
          { name: '_typeFilter', valueString: filter }
        ]
      }
    ],
    url: '/$export'
  },
  {
    request: [`/Patient/$export?_type=Patient&_typeFilter=${encodeURIComponent(filter)}`],
    url: `/Patient/$export?_type=Patient&_typeFilter=${encodeURIComponent(filter)}`
  },
  {
    request: ['/$export?_type=Patient,Secretname&name=Secretname', undefined, lenient],
    url: '/$export?_type=Patient,Secretname&name=Secretname'
  }
]

async function openExporter (t: Test) {
  const gateway = await startGateway(t, { config: { publicUrl: new URL(fhirBase).origin } })
  const { tenantId, secret } = await gateway.createKey()
  return { gateway, own: createExporter({ gateway }, { tenantId, secret, send: createFhirSender(gateway, secret) }) }
}

t.test('the criteria of an export are nowhere in plain text: neither in the control database nor in the spool', async t => {
  const { gateway, own } = await openExporter(t)
  const made = await own.send('POST', '/Patient', patient)
  t.equal(made.status, 201)
  await own.send('POST', '/Patient', { resourceType: 'Patient', name: [{ family: 'Byron' }] })
  const exported = await Promise.all(
    exports.map(async request => ({ ...request, ...(await own.runExport(...request.request)) }))
  )
  for (const { request, url, manifest, lines } of exported) {
    t.ok(manifest.request.endsWith(`/v1/fhir${url}`), 'the manifest repeats the request all the same')
    t.equal(lines.Patient!.length, request[2] === undefined ? 1 : 2, 'and the export holds what was searched for')
  }
  t.equal(dumpControlDatabase(gateway).jobs!.length, exports.length)
  const { id } = made.resource
  const parameter = [{ name: 'patient', valueReference: { reference: `Patient/${id}` } }]
  const ofOne = await own.runExport('/Patient/$export', { resourceType: 'Parameters', parameter })
  t.strictSame(ofOne.lines.Patient!.map(record => record.id), [id])
  t.notMatch(JSON.stringify(dumpControlDatabase(gateway).jobs), id, 'nor is the patient whose records are exported')
  t.notMatch(JSON.stringify(dumpControlDatabase(gateway)), secrets)
  const storedFiles = listDataFiles(gateway.dataDirectory).filter(
    ({ name }) => name.startsWith('control.db') || name.startsWith('bulk')
  )
  t.ok(storedFiles.some(({ name }) => name.endsWith('request')))
  t.strictSame(
    storedFiles.filter(({ bytes }) => secrets.test(bytes.toString('latin1'))).map(({ name }) => name),
    []
  )
})

t.test('a gateway without access to the files of an export reports that, and no other request than the one that was sent', async t => {
  const { gateway, own } = await openExporter(t)
  const statusUrls = await Promise.all(
    [
      '_type=Patient&_since=2020-01-01T00:00:00Z&_elements=Patient.name',
      `_typeFilter=${encodeURIComponent(filter)}`
    ].map(query => own.begin(`/$export?${query}`))
  )
  await Promise.all(statusUrls.map(own.waitForEnd))
  const database = new SQLite(join(gateway.dataDirectory, 'control.db'))
  database.prepare('UPDATE jobs SET store_id = ?').run('elsewhere')
  database.close()
  const [open, sealed] = await Promise.all(statusUrls.map(statusUrl => own.send('GET', statusUrl)))
  t.match(
    open,
    { status: 200, resource: { request: /\?_type=Patient&_since=/ } },
    'names and times are no secret, so every gateway knows them'
  )
  t.match(sealed, { status: 503, headers: { 'retry-after': '1' } })
})
