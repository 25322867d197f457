import t from 'tap'
import { restoreEntryIds, withEntryIdExtensions, withoutEntryIdExtensions } from '../../src/backends/entry-ids.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { parseStored, printJson } from '../../src/json/json.js'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { startFaultyServer } from './faulty-server.js'

const uuid = '0c3151bd-1cbf-4d64-b04d-cd9187a4c6e1'
const fullUrl = `urn:uuid:${uuid}`
const other = { url: 'http://example.org/reviewed', valueBoolean: true }
const document = parseStored(`{"resourceType":"Bundle","type":"document","entry":[
  {"fullUrl":"${fullUrl}","resource":{"resourceType":"Patient","id":"${uuid}","gender":"other"}},
  {"fullUrl":"${fullUrl}","resource":{"resourceType":"Patient","gender":"other"}},
  {"extension":[${JSON.stringify(other)}],"fullUrl":"urn:oid:1.2.3:4","resource":{"resourceType":"Observation","id":"4","valueQuantity":{"value":1.10}}},
  {"fullUrl":"http://example.org/fhir/Patient/1","resource":{"resourceType":"Patient","id":"1"}}
]}`) as FhirResource

/** Stores a Bundle like HAPI, which drops an id with which a URN ends. */
const dropIds = (bundle: any): any => ({
  ...bundle,
  entry: bundle.entry.map(({ resource: { id, ...content }, ...entry }: any) => ({
    ...entry,
    resource: entry.fullUrl.startsWith('urn:') && entry.fullUrl.endsWith(`:${id}`) ? content : { id, ...content }
  }))
})

t.test('ids that a datastore drops from entries of a Bundle come back, and no entry without one gets one', async t => {
  const stored = withEntryIdExtensions(document)
  t.not(stored, document)
  t.notOk(printJson(dropIds(stored)).includes(`"id":"${uuid}"`), 'it drops them')
  for (const received of [stored, dropIds(stored)]) {
    t.strictSame(parseStored(restoreEntryIds(printJson(received))), document)
    const entry = [{ fullUrl: 'http://a/Bundle/1', resource: received }]
    const searchset = { resourceType: 'Bundle', type: 'searchset', entry }
    t.strictSame(
      parseStored(restoreEntryIds(printJson(searchset))),
      { ...searchset, entry: [{ ...entry[0], resource: document }] },
      'also within the response to a search'
    )
  }
  t.match(restoreEntryIds(printJson(dropIds(stored))), /"value":1\.10/, 'numbers keep their digits')
  t.strictSame(withoutEntryIdExtensions(stored), document)
})

t.test('a resource without such ids is stored as it is, and a response without them stays the same to the byte', async t => {
  for (const resource of [
    { resourceType: 'Patient', id: uuid },
    { resourceType: 'Bundle', type: 'collection' },
    { resourceType: 'Bundle', type: 'collection', entry: [{ fullUrl, resource: { resourceType: 'Patient' } }, { fullUrl }] },
    { resourceType: 'Bundle', type: 'collection', entry: [{ fullUrl: `x${fullUrl}`, resource: { resourceType: 'Patient', id: uuid } }] }
  ]) t.equal(withEntryIdExtensions(resource), resource)
  for (const text of ['', '{"a" : 1.0}', '{"div":"urn:clinigate:entry-id" }', 'urn:clinigate:entry-id', '{ "value": 1.10 }']) {
    t.equal(restoreEntryIds(text), text)
  }
})

t.test('whatever is read of a datastore has the ids: a text, its bytes, and a line of an export', async t => {
  const server = await startFaultyServer()
  const backend = new HttpBackend({ name: 'stub', baseUrl: `${server.url}/fhir` })
  t.teardown(() => Promise.all([server.close(), backend.close()]))
  const stored = dropIds(withEntryIdExtensions(document))
  server.behave(response => {
    response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(printJson(stored))
  })
  const response = await backend.send({ method: 'GET', path: 'Bundle/1' })
  t.strictSame(parseStored(response.bytes!.toString()), document)
  t.strictSame(parseStored(response.body), document)
  t.strictSame(parseStored(backend.normalize(printJson(stored))), document)
})
