import { randomBytes } from 'node:crypto'
import { test } from 'tap'
import type { Backend, BackendResponse, BackendRequest } from '../../src/backends/backend.js'
import { parseStored } from '../../src/json/json.js'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { createCursors } from '../../src/tenant-guard/cursor.js'
import type { Incident } from '../../src/tenant-guard/tenant-context.js'
import { RecordTemplate } from '../../src/tenant-guard/import/tagged-record.js'
import { createImportStore } from '../../src/tenant-guard/import/import-store.js'
import { createOwnershipCache } from '../../src/tenant-guard/ownership.js'
import { system } from './guarded.js'

interface Entry {
  readonly resource?: unknown
  readonly response: { readonly status: string; readonly location?: string }
}

/** The import of tenant `mine` at a datastore that stores what it is sent, with scripted responses to transactions. */
function startScene () {
  const sent: BackendRequest[] = []
  const stored = new Map<string, FhirResource>()
  const incidents: Incident[] = []
  const ownership = createOwnershipCache()
  const scene = {
    buildResponse: completeEntry as (resource: FhirResource) => Entry,
    sent,
    stored,
    incidents,
    ownership
  }
  const send = async (request: BackendRequest): Promise<BackendResponse> => {
    sent.push(request)
    return {
      status: 200,
      headers: {},
      body: JSON.stringify(request.method === 'POST' ? applyTransaction(request) : searchByIds(request))
    }
  }
  const applyTransaction = ({ body }: BackendRequest) => {
    const { entry } = JSON.parse(String(body)) as { entry: Array<{ resource: FhirResource }> }
    for (const { resource } of entry) if (!stored.has(resource.id!)) stored.set(resource.id!, resource)
    return {
      resourceType: 'Bundle',
      type: 'transaction-response',
      entry: entry.map(({ resource }) => scene.buildResponse(resource))
    }
  }
  const searchByIds = ({ path }: BackendRequest) => {
    const ids = new URLSearchParams(path.slice(path.indexOf('?'))).get('_id')!.split(',')
    return {
      resourceType: 'Bundle',
      type: 'searchset',
      entry: ids.flatMap(id => (stored.has(id) ? [{ search: { mode: 'match' }, resource: stored.get(id) }] : []))
    }
  }
  const backend = { name: 'scripted', baseUrl: 'http://datastore.test/fhir', send } as unknown as Backend
  const store = createImportStore({
    backend,
    tenant: { id: 'mine', system },
    mode: 'test',
    ownership,
    cursors: createCursors({ key: randomBytes(32), now: () => new Date() }),
    fhirBase: 'http://gateway.test/v1/fhir',
    onIncident: incident => {
      incidents.push(incident)
    },
    onError: () => {}
  })
  return {
    ...scene,
    scene,
    store,
    preferred: () => sent.filter(({ method }) => method === 'POST').map(({ headers }) => headers?.prefer),
    searches: () => sent.filter(({ method }) => method === 'GET').length
  }
}

const completeEntry = (resource: FhirResource): Entry => ({
  resource,
  response: { status: '201 Created', location: buildLocation(resource) }
})
const bareEntry = (resource: FhirResource): Entry => ({ response: { status: '201 Created', location: buildLocation(resource) } })
const buildLocation = ({ resourceType, id }: FhirResource): string => `${resourceType}/${id}/_history/1`

/** Writes records together. @returns the code of each one's failure, undefined if it was stored */
async function collectFailureCodes (
  { write, tagRecord: stamped }: ReturnType<typeof startScene>['store'],
  ...records: ReadonlyArray<Parameters<typeof stamped>[0]>
): Promise<ReadonlyArray<string | undefined>> {
  const result = await write(records.map(stamped))
  return 'written' in result ? result.written.map(({ failure }) => failure?.code) : ['refused']
}

const patient = (id: string) => ({ type: 'Patient', id, resource: { resourceType: 'Patient', id } })

test('once a record of a type came back with the tag, an import requests minimal responses for that type', async t => {
  const { store, scene, preferred, searches } = startScene()
  t.same(await collectFailureCodes(store, patient('i1'), patient('i2')), [undefined, undefined])
  scene.buildResponse = bareEntry
  t.same(await collectFailureCodes(store, patient('i3')), [undefined])
  t.same(
    await collectFailureCodes(store, patient('i4'), {
      type: 'Group',
      id: 'i5',
      resource: { resourceType: 'Group', id: 'i5', type: 'person', actual: true } as FhirResource
    }),
    [undefined, undefined]
  )
  t.same(preferred(), ['return=representation', 'return=minimal', 'return=representation'])
  t.equal(searches(), 1, 'the first Group, which did not come back, is read')
})

test('what an import changed, and what a datastore says to have made elsewhere, is read before it counts as stored', async t => {
  const { store, scene, stored, incidents, searches } = startScene()
  await store.write([patient('i1')].map(store.tagRecord))
  stored.set('i2', { resourceType: 'Patient', id: 'i2', meta: { tag: [{ system, code: 'other' }] } })
  scene.buildResponse = resource =>
    resource.id === 'i4'
      ? { response: { status: '201 Created', location: 'Patient/elsewhere/_history/1' } }
      : { response: { status: '200 OK', location: buildLocation(resource) } }
  t.same(
    await collectFailureCodes(store, patient('i2'), patient('i3'), patient('i4')),
    ['INTERNAL_ERROR', undefined, undefined]
  )
  t.match(incidents, [{ kind: 'foreign-response', type: 'Patient', records: 1 }])
  t.equal(searches(), 1)
})

test('an entry without a status of success has failed, though the transaction succeeded', async t => {
  const { store, scene } = startScene()
  await store.write([patient('i1')].map(store.tagRecord))
  scene.buildResponse = () => ({ response: { status: '400' } })
  t.same(await collectFailureCodes(store, patient('i2')), ['INTERNAL_ERROR'])
})

test('an import leaves the ownership cache of requests unchanged', async t => {
  const { store, ownership } = startScene()
  const scope = { datastore: 'scripted', tenant: 'mine' }
  ownership.remember(scope, 'Patient/known')
  await store.write(
    [
      patient('i1'),
      {
        type: 'Observation',
        id: 'i2',
        resource: {
          resourceType: 'Observation',
          id: 'i2',
          status: 'final',
          code: { text: 'x' },
          subject: { reference: 'Patient/known' }
        } as FhirResource
      }
    ].map(store.tagRecord)
  )
  t.equal(ownership.isKnown(scope, 'Patient/i1'), false)
  t.equal(ownership.isKnown(scope, 'Patient/known'), true)
})

test('a template is filled in with its id and its references, and is otherwise what was checked', async t => {
  const { store } = startScene()
  const text = JSON.stringify({
    resourceType: 'Questionnaire',
    id: 'x',
    status: 'draft',
    title: 'Patient/p1 \\u00001\\u0000 "0"',
    derivedFrom: ['Questionnaire/q1|2'],
    item: [
      {
        linkId: '1',
        type: 'decimal',
        text: 'Questionnaire/q1',
        initial: [
          { valueDecimal: '1.10' },
          { valueReference: { reference: 'Patient/p1/_history/3', display: 'Patient/p1' } },
          { valueReference: { reference: 'Patient/else' } }
        ]
      }
    ]
  }).replace('"1.10"', '1.10')
  const checked = store.checkRecord({
    type: 'Questionnaire',
    id: 'x',
    resource: parseStored(text) as FhirResource
  })
  const template = checked.toTemplate()
  const stored = new RecordTemplate(JSON.parse(JSON.stringify(template)))
  const targets = new Map([['Patient/p1', 'Patient/i1'], ['Questionnaire/q1', 'Questionnaire/i2']])
  const { text: filled, links, name } = stored.fill({ id: 'own', targets })
  t.equal(name, 'Questionnaire/own')
  t.strictSame(links.map(({ record }) => record), ['Questionnaire/i2', 'Patient/i1', 'Patient/else'])
  const expected = text
    .replace('"id":"x"', `"id":"own","meta":{"tag":[{"system":"${system}","code":"mine"}]}`)
    .replace('["Questionnaire/q1|2"]', '["Questionnaire/i2|2"]')
    .replace('"Patient/p1/_history/3"', '"Patient/i1"')
  t.equal(filled, expected)
  const asItCame = expected
    .replace('"own"', '"x"')
    .replace('Questionnaire/i2|2', 'Questionnaire/q1|2')
    .replace('"Patient/i1"', '"Patient/p1/_history/3"')
  t.equal(stored.fill({ id: 'x' }).text, asItCame)
})
