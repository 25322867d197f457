import t from 'tap'
import type { Test } from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import type { StoredResource } from '../../src/mappings/fhir.js'
import type { TenantStore } from '../../src/tenant-guard/guard.js'
import { verifyOwned } from '../../src/tenant-guard/verify-owned.js'
import { createOwnershipCache } from '../../src/tenant-guard/ownership.js'
import { sendJson, startFaultyServer } from '../backends/faulty-server.js'
import type { Behaviour, FaultyServer } from '../backends/faulty-server.js'
import { catchFailure, createGateway, toPublicFailure, system } from './guarded.js'
import type { Gateway } from './guarded.js'

const own = { system, code: 'tenant-a' }
const foreign = { system, code: 'tenant-b' }

interface Rig { readonly server: FaultyServer, readonly gateway: Gateway, readonly store: TenantStore }

/** A guard of tenant-a in front of a scripted server. */
async function startGuard (t: Test): Promise<Rig> {
  const server = await startFaultyServer()
  const gateway = createGateway(`${server.url}/fhir`)
  t.teardown(async () => { await Promise.all([server.close(), gateway.backend.close()]) })
  return { server, gateway, store: gateway.guard('tenant-a') }
}

function patient (id: string, tag: unknown = [own]): StoredResource {
  return { resourceType: 'Patient', id, meta: { versionId: '1', tag } } as StoredResource
}

function searchset (resources: unknown[], more: object = {}): Behaviour {
  return sendJson(200, {
    resourceType: 'Bundle',
    type: 'searchset',
    total: resources.length,
    entry: resources.map(resource => ({ resource, search: { mode: 'match' } })),
    ...more
  })
}

const outcome = {
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', diagnostics: 'HAPI-1094: Resource Patient/SECRET not found at http://SECRET/fhir' }]
}
const read = { kind: 'read', type: 'Patient', id: '1' } as const
const search = { kind: 'search', type: 'Patient', parameters: [], route: 'patients' } as const
const create = { kind: 'create', type: 'Patient', resource: { resourceType: 'Patient' } } as const
const update = {
  kind: 'update',
  type: 'Patient',
  id: '1',
  resource: { resourceType: 'Patient' },
  version: '1'
} as const
const remove = { kind: 'delete', type: 'Patient', id: '1' } as const

t.test('a guard sends what it built and nothing else', async t => {
  const { server, gateway } = await startGuard(t)
  const store = gateway.guard('tenant-a', { requestId: 'request-7' })
  server.behave(sendJson(200, patient('1')))
  await store.read(read)
  await store.update({
    ...update,
    resource: {
      resourceType: 'Patient',
      extension: [{ url: 'http://example.org/x', valueDecimal: new ExactNumber('1.10') }],
      meta: { tag: [foreign] }
    }
  })
  await store.delete({ ...remove, version: '1' })
  server.behave(sendJson(201, patient('2')), searchset([patient('1')]))
  await store.create({ ...create, resource: { resourceType: 'Patient', id: 'chosen' } })
  await store.search({ ...search, parameters: [['name', 'a b']], count: 5 })
  t.strictSame(server.seen.map(({ method, url, body }) => [method, url, body]), [
    ['POST', '/fhir/Patient', `{"resourceType":"Patient","meta":{"tag":[{"system":"${system}","code":"tenant-a"}]}}`],
    ['GET', '/fhir/Patient?name=a%20b&_tag=urn%3Aclinigate%3Atenant%7Ctenant-a&_count=5&_total=accurate', '']
  ])
  t.strictSame(
    gateway.sent.map(({ method, path, headers }) => [method, path, headers]),
    [
      ['GET', 'Patient/1', { 'x-request-id': 'request-7' }],
      ['PUT', 'Patient/1', { prefer: 'return=representation', 'if-match': 'W/"1"', 'x-request-id': 'request-7' }],
      ['GET', 'Patient/1?_elements=id,meta', { 'x-request-id': 'request-7' }],
      ['DELETE', 'Patient/1', { 'if-match': 'W/"1"', 'x-request-id': 'request-7' }],
      ['POST', 'Patient', { prefer: 'return=representation', 'x-request-id': 'request-7' }],
      [
        'GET',
        gateway.sent.at(-1)!.path,
        { 'cache-control': 'no-cache', prefer: 'handling=strict', 'x-request-id': 'request-7' }
      ]
    ]
  )
  t.equal(
    gateway.sent[1]!.body,
    `{"resourceType":"Patient","id":"1","meta":{"tag":[{"system":"${system}","code":"tenant-a"}]},"extension":[{"url":"http://example.org/x","valueDecimal":1.10}]}`
  )
})

t.test('types and ids that no tenant can have are refused before any request to the datastore', async t => {
  const { server, store } = await startGuard(t)
  for (const type of ['Subscription', 'SearchParameter', 'StructureDefinition', 'ValueSet']) {
    const resource = { resourceType: type }
    for (const act of [
      () => store.read({ ...read, type }),
      () => store.search({ ...search, type }),
      () => store.create({ ...create, type, resource }),
      () => store.update({ ...update, type, resource }),
      () => store.delete({ ...remove, type })
    ]) {
      const failure = await catchFailure(act())
      t.strictSame([failure.code, failure.headers], ['METHOD_NOT_ALLOWED', { allow: '' }])
    }
  }
  for (const type of [
    'patient',
    'Patients',
    '',
    '$meta',
    '_search',
    'OperationOutcome',
    'Parameters',
    'Patient/1',
    '..',
    'constructor'
  ]) {
    t.equal((await catchFailure(store.read({ ...read, type }))).code, 'NOT_FOUND', type)
    t.equal((await catchFailure(store.search({ ...search, type }))).code, 'NOT_FOUND', type)
  }
  for (const id of [
    '',
    '.',
    '..',
    'a/b',
    'a?b',
    'a#b',
    'a%2fb',
    '$everything',
    '_history',
    'a b',
    'ä',
    'x'.repeat(65),
    '1\n',
    ['1']
  ]) {
    for (const act of [
      () => store.read({ ...read, id: id as string }),
      () => store.update({ ...update, id: id as string }),
      () => store.delete({ ...remove, id: id as string })
    ]) {
      t.equal((await catchFailure(act())).code, 'NOT_FOUND', JSON.stringify(id))
    }
  }
  t.equal(server.seen.length, 0)
})

t.test(
  "a record is shown when it is the requested one, with one tenant tag, the tenant's own",
  async t => {
    const { server, store } = await startGuard(t)
    const rejectedRecords = [
      patient('1', [foreign]),
      patient('1', [own, foreign]),
      patient('1', [own, own]),
      patient('1', []),
      { ...patient('1'), meta: {} },
      patient('1', own),
      patient('1', null),
      patient('2'),
      patient('1', [{ ...own, system: ` ${system}` }]),
      patient('1', [own, { system: system.toUpperCase(), code: 'x' }]),
      patient('1', [{ system }]),
      patient('1', [{ system, code: ['tenant-a'] }]),
      { ...patient('1'), resourceType: 'Practitioner' },
      { ...patient('1'), id: undefined },
      { resourceType: 'Patient', id: '1' },
      outcome,
      [],
      null,
      'x',
      1
    ]
    for (const body of rejectedRecords) {
      server.behave(sendJson(200, body))
      t.equal((await catchFailure(store.read(read))).code, 'NOT_FOUND', JSON.stringify(body))
      t.equal((await catchFailure(store.delete(remove))).code, 'NOT_FOUND', JSON.stringify(body))
      t.ok(server.seen.every(({ method }) => method === 'GET'))
    }
    server.behave(sendJson(200, patient('1', [{ system: 'http://ward', code: '3' }, { code: 'x' }, own])))
    t.equal((await store.read(read)).id, '1')
    t.equal(verifyOwned(patient('.'), { tenant: { id: 'tenant-a', system }, type: 'Patient' }), undefined)
  }
)

t.test(
  'a foreign match is dropped, not counted, and reported; notes of the server and included records are no matches',
  async t => {
    const { server, gateway, store } = await startGuard(t)
    server.behave(
      searchset([patient('1'), patient('2', [foreign]), { ...patient('3'), resourceType: 'Person' }, undefined])
    )
    t.strictSame(await store.search(search), { resources: [patient('1')], total: 1 })
    t.strictSame(
      gateway.incidents.map(({ kind, records }) => [kind, records]),
      [['foreign-match', 3]]
    )
    t.notMatch(JSON.stringify(gateway.incidents), /"[123]"/)
    gateway.incidents.length = 0
    const entry = [
      { resource: patient('1') },
      { resource: outcome, search: { mode: 'outcome' } },
      { resource: patient('2', [foreign]), search: { mode: 'include' } }
    ]
    server.behave(searchset([], { total: 1, entry }))
    t.strictSame(await store.search(search), { resources: [patient('1')], total: 1 })
    t.strictSame(gateway.incidents, [])
  }
)

t.test("the response to a write that is not the tenant's record is not shown but reported", async t => {
  const { server, gateway, store } = await startGuard(t)
  server.behave(sendJson(200, patient('1')))
  await store.read(read)
  for (const [act, status, body] of [
    [() => store.create(create), 201, patient('9', [foreign])],
    [() => store.create(create), 201, patient('9', [own, foreign])],
    [() => store.create(create), 201, outcome],
    [() => store.update(update), 200, patient('2')],
    [() => store.update(update), 200, patient('1', [own, foreign])],
    [() => store.update(update), 201, patient('1')]
  ] as const) {
    gateway.incidents.length = 0
    server.behave(sendJson(status, body))
    const failure = await catchFailure(act())
    t.equal(failure.code, 'INTERNAL_ERROR')
    t.match(failure.message, /check whether it was made/)
    t.equal(gateway.incidents.length, 1)
  }
})

t.test('no text of the datastore reaches the client, and none of it but status and code the log', async t => {
  const { server, gateway, store } = await startGuard(t)
  const acts = {
    read: () => store.read(read),
    search: () => store.search(search),
    create: () => store.create(create),
    update: () => store.update(update),
    delete: () => store.delete(remove)
  }
  const codes: Record<string, Record<string, string>> = {}
  for (const [name, act] of Object.entries(acts)) {
    codes[name] = {}
    for (const status of [400, 404, 405, 409, 410, 412, 413, 422]) {
      server.behave(sendJson(200, patient('1')))
      await store.read(read)
      if (name === 'delete') server.behave(sendJson(200, patient('1')), sendJson(status, outcome))
      else server.behave(sendJson(status, outcome))
      const failure = await catchFailure(act())
      codes[name]![status] = failure.code
      t.notMatch(JSON.stringify([toPublicFailure(failure), failure.cause]), /SECRET|Patient\//, `${name} ${status}`)
    }
  }
  const rest = {
    404: 'BACKEND_ERROR',
    405: 'NOT_IMPLEMENTED',
    409: 'BACKEND_ERROR',
    410: 'BACKEND_ERROR',
    412: 'BACKEND_ERROR',
    413: 'BACKEND_ERROR',
    422: 'BACKEND_ERROR',
    400: 'BACKEND_ERROR'
  }
  t.strictSame(codes, {
    read: { ...rest, 400: 'NOT_FOUND', 404: 'NOT_FOUND', 410: 'NOT_FOUND' },
    search: { ...rest, 400: 'BAD_REQUEST', 405: 'BAD_REQUEST', 422: 'BAD_REQUEST' },
    create: { ...rest, 400: 'VALIDATION_ERROR', 409: 'CONFLICT', 412: 'CONFLICT', 422: 'VALIDATION_ERROR' },
    update: {
      ...rest,
      400: 'VALIDATION_ERROR',
      404: 'NOT_FOUND',
      409: 'CONFLICT',
      410: 'NOT_FOUND',
      412: 'CONFLICT',
      422: 'VALIDATION_ERROR'
    },
    delete: { ...rest, 404: 'NOT_FOUND', 409: 'CONFLICT', 410: 'NOT_FOUND', 412: 'PRECONDITION_FAILED' }
  })
  t.strictSame(gateway.incidents, [])
})

t.test("half a response, or one of another kind, is the datastore's fault", async t => {
  const { server, gateway, store } = await startGuard(t)
  server.behave(sendJson(200, patient('1')))
  await store.read(read)
  const respondHalf: Behaviour = response => {
    response
      .writeHead(gateway.sent.at(-1)!.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' })
      .end('{"SECRET": "Patient/')
  }
  for (const act of [
    () => store.read(read),
    () => store.search(search),
    () => store.create(create),
    () => store.update(update),
    () => store.delete(remove)
  ]) {
    server.behave(respondHalf)
    const failure = await catchFailure(act())
    t.equal(failure.code, 'BACKEND_ERROR')
    t.notMatch(JSON.stringify([toPublicFailure(failure), failure.cause, String(failure.cause)]), /SECRET/)
  }
  for (const body of [
    outcome,
    patient('1'),
    { resourceType: 'Bundle', type: 'history' },
    { resourceType: 'Bundle', type: 'searchset', entry: {} },
    { resourceType: 'Bundle', type: 'searchset', entry: [null] },
    null,
    []
  ]) {
    server.behave(sendJson(200, body))
    t.equal((await catchFailure(store.search(search))).code, 'BACKEND_ERROR')
    t.equal((await catchFailure(store.filterOwned(['Patient/7']))).code, 'BACKEND_ERROR')
  }
})

t.test(
  'a page link is followed to the configured datastore, hidden from the client, and ends as an invalid cursor',
  async t => {
    const { server, gateway, store } = await startGuard(t)
    const withNextLink = (url: string) => ({
      total: 3,
      link: [
        { relation: 'self', url: 'http://x' },
        { relation: 'next', url }
      ]
    })
    server.behave(searchset([patient('1')], withNextLink(`${server.url}/fhir?_getpages=TOKEN&_getpagesoffset=1`)))
    const { cursor } = await store.search(search)
    t.notMatch(Buffer.from(cursor!, 'base64url').toString('latin1'), /TOKEN/)
    server.behave(searchset([patient('2'), patient('3', [foreign])], { total: undefined }))
    t.strictSame(await store.search({ ...search, cursor }), { resources: [patient('2')], total: 3 })
    t.equal(server.seen[0]!.url, '/fhir?_getpages=TOKEN&_getpagesoffset=1')
    t.equal(gateway.incidents.length, 1)
    server.behave(searchset([patient('2')], { total: undefined }))
    t.strictSame(
      await store.search({ ...search, cursor }),
      { resources: [patient('2')], total: 3 },
      'the total stays, though this server says it once'
    )
    server.behave(
      searchset([patient('1'), patient('3', [foreign])], withNextLink('?_getpages=TOKEN')),
      searchset([patient('1'), patient('3', [foreign])]),
      searchset([patient('1')], { total: 1 })
    )
    t.strictSame(
      await store.search(search),
      { resources: [patient('1')], total: 1 },
      "the tenant's records are searched for again by their ids"
    )
    for (const status of [404, 410]) {
      server.behave(sendJson(status, outcome))
      t.strictSame(
        toPublicFailure(await catchFailure(store.search({ ...search, cursor }))),
        toPublicFailure(await catchFailure(store.search({ ...search, cursor: 'x' })))
      )
    }
    for (const url of [
      'http://127.0.0.1:1/fhir?_getpages=1',
      `${server.url}/admin`,
      `${server.url}/fhir/Observation?x`
    ]) {
      server.behave(searchset([patient('1')], withNextLink(url)))
      t.equal((await catchFailure(store.search(search))).code, 'BACKEND_ERROR')
    }
  }
)

t.test(
  'ownership is remembered from checked responses only, for one datastore, and forgotten with the record',
  async t => {
    const { server, gateway, store } = await startGuard(t)
    const isLookedUp = async (candidate: string) => {
      server.behave(searchset([]))
      await store.filterOwned([candidate])
      return server.seen.length > 0
    }
    server.behave(sendJson(200, patient('1', [foreign])))
    await catchFailure(store.read(read))
    t.equal(await isLookedUp('Patient/1'), true, 'a foreign record')
    server.behave(searchset([patient('2'), patient('3', [foreign])]))
    await store.search(search)
    t.strictSame([await isLookedUp('Patient/2'), await isLookedUp('Patient/3')], [false, true])
    server.behave(searchset([]))
    await gateway.guard('tenant-b').filterOwned(['Patient/2'])
    t.equal(server.seen.length, 1, 'another tenant')
    await gateway.guard('tenant-a', { backend: { ...gateway.backend, name: 'other' } }).filterOwned(['Patient/2'])
    t.equal(server.seen.length, 2, 'another datastore')
    server.behave(sendJson(410, outcome))
    await catchFailure(store.read({ ...read, id: '2' }))
    t.equal(await isLookedUp('Patient/2'), true, 'a record that is gone')
    server.behave(sendJson(200, patient('4')), sendJson(200, outcome))
    await store.delete({ ...remove, id: '4' })
    t.equal(await isLookedUp('Patient/4'), true, 'a deleted record')
  }
)

t.test('a look-up accepts the record that it requested, and only that', async t => {
  const { server, store } = await startGuard(t)
  server.behave(searchset([patient('8'), patient('7', [foreign])]))
  t.strictSame([...await store.filterOwned(['Patient/7'])], [])
})

t.test('the ownership cache is bounded', async t => {
  const ownership = createOwnershipCache({ max: 2 })
  const scope = { datastore: 'd', tenant: 'a' }
  for (const record of ['Patient/1', 'Patient/2', 'Patient/3']) ownership.remember(scope, record)
  t.strictSame(
    ['Patient/1', 'Patient/2', 'Patient/3'].map(record => ownership.isKnown(scope, record)),
    [false, true, true]
  )
})

t.test('a resource written where another type belongs is a mistake of the gateway, and is not sent', async t => {
  const { server, store } = await startGuard(t)
  await t.rejects(store.create({ ...create, resource: { resourceType: 'Subscription' } }), { message: /another type/ })
  t.equal(server.seen.length, 0)
})
