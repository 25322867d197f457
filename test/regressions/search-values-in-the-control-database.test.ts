import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { test, type Test } from 'tap'
import { exporter, type Exporter } from '../jobs/exporting.js'
import { dataFiles } from '../harness/data-files.js'
import { dumpOf } from '../harness/dump.js'
import { startGateway } from '../harness/gateway.js'
import { fhirBase, sender } from '../passthrough/fixture.js'

const filter = 'Patient?identifier=urn:ssn|123-45-6789&family=Secretname'
const secrets = /123-45-6789|Secretname|%7C123|ecretnam/
const lenient = { prefer: 'respond-async, handling=lenient' }
const patient = {
  resourceType: 'Patient',
  identifier: [{ system: 'urn:ssn', value: '123-45-6789' }],
  name: [{ family: 'Secretname' }]
}

/** What was asked for, by what its manifest says of the URL. */
const exports: ReadonlyArray<{ readonly request: Parameters<Exporter['exported']>; readonly url: string }> = [
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

async function opened (t: Test) {
  const gateway = await startGateway(t, { config: { publicUrl: new URL(fhirBase).origin } })
  const { tenantId, secret } = await gateway.createKey()
  return { gateway, own: exporter({ gateway }, { tenantId, secret, send: sender(gateway, secret) }) }
}

test('what an export searches for is nowhere in plain text: neither in the control database nor in the spool', async t => {
  const { gateway, own } = await opened(t)
  t.equal((await own.send('POST', '/Patient', patient)).status, 201)
  await own.send('POST', '/Patient', { resourceType: 'Patient', name: [{ family: 'Byron' }] })
  const exported = await Promise.all(
    exports.map(async request => ({ ...request, ...(await own.exported(...request.request)) }))
  )
  for (const { request, url, manifest, lines } of exported) {
    t.ok(manifest.request.endsWith(`/v1/fhir${url}`), 'the manifest repeats the request all the same')
    t.equal(lines.Patient!.length, request[2] === undefined ? 1 : 2, 'and the export holds what was searched for')
  }
  t.equal(dumpOf(gateway).jobs!.length, exports.length)
  t.notMatch(JSON.stringify(dumpOf(gateway)), secrets)
  const kept = dataFiles(gateway.dataDirectory).filter(
    ({ name }) => name.startsWith('control.db') || name.startsWith('bulk')
  )
  t.ok(kept.some(({ name }) => name.endsWith('request')))
  t.strictSame(
    kept.filter(({ bytes }) => secrets.test(bytes.toString('latin1'))).map(({ name }) => name),
    []
  )
})

test('a gateway that does not reach the files of an export says so, rather than another request than the one that was sent', async t => {
  const { gateway, own } = await opened(t)
  const places = await Promise.all(
    [
      '_type=Patient&_since=2020-01-01T00:00:00Z&_elements=Patient.name',
      `_typeFilter=${encodeURIComponent(filter)}`
    ].map(query => own.begin(`/$export?${query}`))
  )
  await Promise.all(places.map(own.ended))
  const database = new SQLite(join(gateway.dataDirectory, 'control.db'))
  database.prepare('UPDATE jobs SET store_id = ?').run('elsewhere')
  database.close()
  const [open, sealed] = await Promise.all(places.map(place => own.send('GET', place)))
  t.match(
    open,
    { status: 200, resource: { request: /\?_type=Patient&_since=/ } },
    'names and times are no secret, so every gateway knows them'
  )
  t.match(sealed, { status: 503, headers: { 'retry-after': '1' } })
})
