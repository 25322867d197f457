import t, { type Test } from 'tap'
import type { StoredResource } from '../../src/mappings/fhir.js'
import type { Include } from '../../src/tenant-guard/interaction.js'
import { sendJson, startFaultyServer, type Behaviour } from '../backends/faulty-server.js'
import { catchFailure, createGateway, system } from './guarded.js'

const own = { system, code: 'tenant-a' }
const foreign = { system, code: 'tenant-b' }
const seenAt = new Date('2026-03-14T09:30:00Z')
const idempotencyTag = (code = 'today', display: string | undefined = seenAt.toISOString()) => ({
  system: `${system}:idempotency`,
  code,
  display
})

/** A guard of tenant-a in front of a scripted server. */
async function startGuard (t: Test) {
  const server = await startFaultyServer()
  const gateway = createGateway(`${server.url}/fhir`)
  t.teardown(async () => { await Promise.all([server.close(), gateway.backend.close()]) })
  return { server, gateway, store: gateway.guard('tenant-a') }
}

function record (resourceType: string, id: string, tag: readonly unknown[] = [own], versionId = '1'): StoredResource {
  return { resourceType, id, meta: { versionId, tag } } as StoredResource
}

function searchset (matches: unknown[], included: unknown[] = [], more: object = {}): Behaviour {
  const entry = [
    ...matches.map(resource => ({ resource, search: { mode: 'match' } })),
    ...included.map(resource => ({ resource, search: { mode: 'include' } }))
  ]
  return sendJson(200, { resourceType: 'Bundle', type: 'searchset', total: matches.length, entry, ...more })
}

const create = {
  kind: 'create-once',
  type: 'Patient',
  resource: { resourceType: 'Patient' },
  tags: ['today', 'yesterday'],
  seenAt,
  since: new Date('2026-03-13T09:30:00Z')
} as const
const vread = { kind: 'vread', type: 'Patient', id: '1', version: '1' } as const
const outcome = { resourceType: 'OperationOutcome', issue: [{ severity: 'error', diagnostics: 'HAPI-0000: SECRET' }] }

t.test(
  "a create-once is tagged and searches for the tenant's own record with a tag of the key, whatever tags it came with",
  async t => {
    const { server, store } = await startGuard(t)
    server.behave(sendJson(201, record('Patient', '7', [own, idempotencyTag()])))
    const resource = {
      resourceType: 'Patient',
      meta: { tag: [idempotencyTag('stolen'), foreign, { system: 'http://ward', code: '3' }] }
    }
    t.match(await store.createOnce({ ...create, resource }), { isNew: true, record: { id: '7' } })
    const [{ headers, body }] = server.seen as [(typeof server.seen)[0]]
    t.strictSame(JSON.parse(body).meta.tag, [{ system: 'http://ward', code: '3' }, own, idempotencyTag()])
    t.strictSame(
      [...new URLSearchParams(headers['if-none-exist'] as string)],
      [
        ['_tag', `${system}:idempotency|today,${system}:idempotency|yesterday`],
        ['_tag', `${system}|tenant-a`]
      ]
    )
    await t.rejects(store.createOnce({ ...create, tags: ['a,b'] }), { message: /a mark has/ })
  }
)

t.test('what an earlier request made is shown; what one made long before is not', async t => {
  const { server, store } = await startGuard(t)
  server.behave(sendJson(200, record('Patient', '7', [own, idempotencyTag('yesterday', '2026-03-13T10:00:00Z')], '4')))
  t.match(await store.createOnce(create), { isNew: false, record: { id: '7', meta: { versionId: '4' } } })
  t.equal(server.seen.length, 1)
  server.behave(
    sendJson(200, record('Patient', '7', [own, idempotencyTag('yesterday', '2026-03-13T09:00:00Z')])),
    sendJson(201, record('Patient', '8', [own, idempotencyTag()]))
  )
  t.match(await store.createOnce(create), { isNew: true, record: { id: '8' } })
  t.notMatch(server.seen[1]!.headers['if-none-exist'], /yesterday/)
  server.behave(sendJson(412, outcome), sendJson(200, record('Patient', '8', [own, idempotencyTag()])))
  t.match(
    await store.createOnce(create),
    { isNew: false, record: { id: '8' } },
    'one of yesterday is stored next to the newer one'
  )
  server.behave(sendJson(200, record('Patient', '9', [own, { ...idempotencyTag(), display: undefined }])))
  t.match(await store.createOnce(create), { isNew: false, record: { id: '9' } }, 'a server that keeps no display')
})

t.test('a create that conflicts with another one is retried, for a while', async t => {
  const { server, store } = await startGuard(t)
  server.behave(sendJson(409, outcome), sendJson(409, outcome), sendJson(200, record('Patient', '7', [own, idempotencyTag()])))
  t.match(await store.createOnce(create), { isNew: false, record: { id: '7' } })
  server.behave(sendJson(409, outcome))
  t.equal((await catchFailure(store.createOnce(create))).code, 'CONFLICT')
  t.equal(server.seen.length, 6)
  server.behave(sendJson(412, outcome))
  t.equal((await catchFailure(store.createOnce(create))).code, 'CONFLICT')
  t.equal(server.seen.length, 2)
})

t.test("a server that ignores the condition, or shows another tenant's record, is not trusted", async t => {
  const { server, gateway, store } = await startGuard(t)
  for (const tags of [[own], [own, idempotencyTag('other')], [own, { system: `${system}:IDEMPOTENCY`, code: 'today' }]]) {
    server.behave(sendJson(200, record('Patient', '7', tags)))
    t.equal((await catchFailure(store.createOnce(create))).code, 'BACKEND_ERROR')
  }
  t.strictSame(gateway.incidents, [])
  for (const tags of [[foreign, idempotencyTag()], [own, foreign, idempotencyTag()], [idempotencyTag()]]) {
    gateway.incidents.length = 0
    server.behave(sendJson(200, record('Patient', '7', tags)))
    t.equal((await catchFailure(store.createOnce(create))).code, 'INTERNAL_ERROR')
    t.match(gateway.incidents, [{ kind: 'foreign-response', interaction: 'create-once' }])
  }
})

t.test('a version is read of a record that is the tenant\'s now, and was at that time', async t => {
  const { server, store } = await startGuard(t)
  const refused: Array<[unknown, Behaviour[]]> = [
    ['foreign now', [sendJson(200, record('Patient', '1', [foreign], '2'))]],
    ['deleted now', [sendJson(410, outcome)]],
    [
      'foreign then',
      [sendJson(200, record('Patient', '1', [own], '2')), sendJson(200, record('Patient', '1', [foreign], '1'))]
    ],
    [
      'both then',
      [sendJson(200, record('Patient', '1', [own], '2')), sendJson(200, record('Patient', '1', [own, foreign], '1'))]
    ],
    [
      'another version',
      [sendJson(200, record('Patient', '1', [own], '2')), sendJson(200, record('Patient', '1', [own], '2'))]
    ],
    ['another record', [sendJson(200, record('Patient', '1', [own], '2')), sendJson(200, record('Patient', '3', [own], '1'))]],
    ['no such version', [sendJson(200, record('Patient', '1', [own], '2')), sendJson(404, outcome)]]
  ]
  for (const [name, behaviours] of refused) {
    server.behave(...behaviours)
    t.equal((await catchFailure(store.vread(vread))).code, 'NOT_FOUND', String(name))
  }
  server.behave(sendJson(200, record('Patient', '1', [own], '2')), sendJson(200, record('Patient', '1', [own], '1')))
  t.match(await store.vread(vread), { meta: { versionId: '1' } })
  t.strictSame(server.seen.map(({ url }) => url), ['/fhir/Patient/1', '/fhir/Patient/1/_history/1'])
  server.behave(sendJson(200, record('Patient', '1', [own], '2')))
  t.equal((await catchFailure(store.vread({ ...vread, version: '../2' }))).code, 'NOT_FOUND')
  t.equal(server.seen.length, 1)
})

const back: Include = { direction: 'revinclude', type: 'Encounter', parameter: 'patient' }
const related = { kind: 'read-related', type: 'Patient', id: '1', includes: [back] } as const

t.test("only records with the tenant's tag alone are included, once, and the rest is left out silently", async t => {
  const { server, gateway, store } = await startGuard(t)
  const visit = record('Encounter', '2')
  const strangers = [
    record('Encounter', '3', [foreign]),
    record('Encounter', '4', [own, foreign]),
    record('Encounter', '5', []),
    record('Subscription', '6'),
    record('Nonsense', '7'),
    record('Encounter', '../8'),
    null,
    'x',
    record('Patient', '1')
  ]
  server.behave(searchset([record('Patient', '1')], [visit, visit, ...strangers]))
  const response = await store.readRelated(related)
  t.strictSame(response.related, [visit])
  t.equal(response.cutTypes.size, 0)
  t.strictSame(gateway.incidents, [])
  t.equal(
    server.seen[0]!.url,
    '/fhir/Patient?_id=1&_tag=urn%3Aclinigate%3Atenant%7Ctenant-a&_count=1&_total=accurate&_revinclude=Encounter%3Apatient'
  )
  t.equal(server.seen[0]!.headers['cache-control'], 'no-cache')
  for (const match of [
    record('Patient', '1', [foreign]),
    record('Patient', '1', [own, foreign]),
    record('Patient', '9'),
    record('Encounter', '1')
  ]) {
    server.behave(searchset([match], [visit]))
    t.equal((await catchFailure(store.readRelated(related))).code, 'NOT_FOUND')
  }
})

t.test('the types of which more may be there are named', async t => {
  const { server, store } = await startGuard(t)
  const buildRecords = (type: string, count: number, tag = [own]) =>
    Array.from({ length: count }, (_, at) => record(type, `${type}${at}`, tag))
  const includes: Include[] = [back, { ...back, type: 'Observation' }]
  const cut = async (behaviour: Behaviour) => {
    server.behave(behaviour)
    return [...(await store.readRelated({ ...related, includes })).cutTypes]
  }
  t.strictSame(
    await cut(searchset([record('Patient', '1')], [...buildRecords('Encounter', 999), ...buildRecords('Observation', 1_000)])),
    ['Observation']
  )
  t.strictSame(
    await cut(searchset([record('Patient', '1')], buildRecords('Encounter', 1_000, [foreign]))),
    ['Encounter'],
    "others' records take the room of own ones"
  )
  const note = { resource: outcome, search: { mode: 'outcome' } }
  t.strictSame(
    await cut(
      sendJson(200, { resourceType: 'Bundle', type: 'searchset', entry: [{ resource: record('Patient', '1') }, note] })
    ),
    ['Encounter', 'Observation']
  )
  t.strictSame(
    await cut(searchset([record('Patient', '1')], [], { link: [{ relation: 'related', url: 'http://x' }] })),
    ['Encounter', 'Observation']
  )
})

t.test('only references of R4 are followed for includes', async t => {
  const { server, store } = await startGuard(t)
  const misuses: Array<Partial<Record<keyof Include, string>>> = [
    { parameter: '*' },
    { parameter: 'status' },
    { parameter: 'patient:iterate' },
    { parameter: 'patient&_tag=x' },
    { parameter: 'constructor' },
    { type: 'Subscription' },
    { type: '*' },
    { type: 'Resource' },
    { direction: 'include' },
    { direction: 'include', type: 'Patient', parameter: 'link', target: 'ValueSet' }
  ]
  for (const misuse of misuses) {
    const failure = await catchFailure(store.readRelated({ ...related, includes: [{ ...back, ...misuse } as Include] }))
    t.equal(failure.code, 'BAD_REQUEST', JSON.stringify(misuse))
  }
  t.equal((await catchFailure(store.readRelated({ ...related, includes: Array(61).fill(back) }))).code, 'BAD_REQUEST')
  t.equal(server.seen.length, 0)
  server.behave(sendJson(400, outcome))
  t.match(await catchFailure(store.readRelated(related)), { code: 'BAD_REQUEST', message: /does not support following/ })
})
