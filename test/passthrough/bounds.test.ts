import t, { type Test } from 'tap'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import type { BackendRequest } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import { Failure, maxIssues } from '../../src/envelope/failures.js'
import type { Batch, Transaction } from '../../src/tenant-guard/interaction.js'
import { maxReferencedRecords } from '../../src/tenant-guard/writes/references.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { catchFailure, createGateway, newTenant } from '../tenant-guard/guarded.js'
import { buildBundle, buildEntry, assertRejected, buildObservation, createFhirSender } from './fixture.js'

const listOf = (length: number, reference: (at: number) => string) => ({
  resourceType: 'List',
  status: 'current',
  mode: 'working',
  entry: Array.from({ length }, (_, at) => ({ item: { reference: reference(at) } }))
})
const plain = {
  isLenient: false,
  showsWritten: false,
  fhirBase: 'http://gateway.test/v1/fhir',
  method: 'POST',
  query: []
}

/** A datastore without records that records its requests. */
function createRecordingGuard () {
  const sent: BackendRequest[] = []
  const { backend: real, guard } = createGateway('http://datastore.test/fhir')
  const backend = decorateBackend(real, {
    send: async request => {
      sent.push(request)
      return {
        status: 200,
        headers: {},
        body: JSON.stringify({ resourceType: 'Bundle', type: 'searchset', entry: [] })
      }
    }
  })
  return { sent, store: guard(newTenant(), { backend }) }
}

// A List of a hundred thousand entries made 500 searches, for one request that counted.
t.test('a request may refer to ten thousand records, and is refused before any search when it refers to more', async t => {
  const half = maxReferencedRecords / 2
  const buildReferencingBundle = (type: string, more: number) => ({
    path: [],
    body: buildBundle(
      type,
      ...[0, half].map(from =>
        buildEntry(
          'POST',
          'List',
          listOf(half + (from && more), at => `Patient/x${from + at}`)
        )
      )
    )
  })
  for (const [name, accepted, tooMany] of [
    [
      'create',
      { path: ['List'], body: listOf(maxReferencedRecords, at => `Patient/x${at}`) },
      { path: ['List'], body: listOf(maxReferencedRecords + 1, at => `Patient/x${at}`) }
    ],
    ['transaction', buildReferencingBundle('transaction', 0), buildReferencingBundle('transaction', 1)],
    ['batch', buildReferencingBundle('batch', 0), buildReferencingBundle('batch', 1)]
  ] as const) {
    const { sent, store } = createRecordingGuard()
    await store.perform(parseInteraction({ ...plain, ...accepted })).catch(error => t.type(error, Failure))
    t.equal(sent.length, 50, `${name}: all are looked up`)
    sent.length = 0
    t.match(
      await catchFailure(store.perform(parseInteraction({ ...plain, ...tooMany }))),
      { code: 'VALIDATION_ERROR', message: /at most 10000 different records/, issues: [{ code: 'too-costly' }] },
      name
    )
    t.equal(sent.length, 0, `${name}: none is looked up`)
  }
  const { sent, store } = createRecordingGuard()
  await catchFailure(
    store.perform(
      parseInteraction({ ...plain, path: ['List'], body: listOf(2 * maxReferencedRecords, () => 'Patient/x') })
    )
  )
  t.equal(sent.length, 1, 'one record is one, however often it is referred to')
})

// A response listed 400,000 references to nothing in 68 MB.
t.test('of the references at fault the first hundred are listed', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const send = createFhirSender(gateway, secret)
  const assertIssuesLimited = (items: readonly object[], named: (at: number) => string, name: string) => {
    t.equal(items.length, maxIssues, name)
    t.match(items.slice(0, -1), Array.from({ length: maxIssues - 1 }, (_, at) => ({ expression: [named(at)] })), name)
    t.match(items.at(-1), { code: 'too-costly', diagnostics: /^Only the first 100 issues are listed/ }, name)
  }
  const faulty = listOf(1_000, () => 'x')
  const alone = await send('POST', '/List', faulty)
  assertRejected(t, alone, 422, 'alone')
  assertIssuesLimited(alone.resource.issue, at => `List.entry[${at}].item`, 'alone')
  assertIssuesLimited(
    (await send('POST', '', buildBundle('transaction', buildEntry('POST', 'List', faulty)))).resource.issue,
    at => `Bundle.entry[0].resource.entry[${at}].item`,
    'in a transaction'
  )
  await testSimpleForm(t, gateway, secret, assertIssuesLimited)
})

async function testSimpleForm (
  t: Test,
  gateway: Awaited<ReturnType<typeof startGateway>>,
  secret: string,
  assertIssuesLimited: (items: readonly object[], named: (at: number) => string, name: string) => void
): Promise<void> {
  for (const [name, id] of [
    ['different ones', (at: number) => `${at}`],
    ['one', () => 'x']
  ] as const) {
    const response = await gateway.inject({
      method: 'POST',
      url: '/v1/care-teams',
      headers: { 'x-api-key': secret },
      payload: {
        name: 'a team',
        status: 'active',
        managingOrganizationIds: Array.from({ length: 1_000 }, (_, at) => id(at))
      }
    })
    t.equal(response.statusCode, 422, response.body.slice(0, 300))
    assertIssuesLimited(response.json().issues, at => `managingOrganizationIds[${at}]`, name)
  }
}

const plainRequest = { isLenient: false, showsWritten: false, fhirBase: 'http://gateway.test/v1/fhir' }
const parseSearch = (...query: ReadonlyArray<readonly [string, string]>) =>
  parseInteraction({ ...plainRequest, method: 'POST', path: ['Observation', '_search'], query })
const parseBundle = (body: object) => parseInteraction({ ...plainRequest, method: 'POST', path: [], query: [], body })
const repeat = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at))
const buildChain = (at: number) => ['subject:Patient.family', `x${at}`] as const
const buildReferenceEntry = (at: number) => buildEntry('POST', 'Observation', buildObservation(`Patient?identifier=${at}`))

// 1,500 chains in one form were as many searches in the datastore, or five times more, for one request that counted.
t.test(
  'a search may become twenty others, and a chain without a type counts for each type that it may lead to',
  async t => {
    t.match(parseSearch(...repeat(20, buildChain)), { kind: 'search' })
    t.match(parseSearch(...repeat(19, buildChain), ['_has:Provenance:target:agent', 'Practitioner/1']), { kind: 'search' })
    for (const [name, query] of [
      ['typed', repeat(21, buildChain)],
      ['_has', repeat(21, at => ['_has:Provenance:target:agent', `Practitioner/${at}`] as const)],
      ['untyped', repeat(11, at => ['subject.identifier', `x${at}`] as const)],
      ['1500', repeat(1_500, buildChain)]
    ] as const) {
      t.throws(() => parseSearch(...query), { code: 'BAD_REQUEST', message: /at most 20 chains/ }, name)
    }
  }
)

t.test('the searches of a Bundle may become a thousand others', async t => {
  const buildUrl = (joins: number) => `Observation?${repeat(joins, at => buildChain(at).join('=')).join('&')}`
  for (const type of ['batch', 'transaction']) {
    t.match(parseBundle(buildBundle(type, ...repeat(50, () => buildEntry('GET', buildUrl(20))))), { kind: type })
    t.throws(
      () => parseBundle(buildBundle(type, ...repeat(50, () => buildEntry('GET', buildUrl(20))), buildEntry('GET', buildUrl(1)))),
      { code: 'BAD_REQUEST', message: /at most 1000 chains/ },
      type
    )
  }
  const parseCompartmentBatch = (entries: number) => parseBundle(buildBundle('batch', ...repeat(entries, () => buildEntry('GET', 'Patient/1/Coverage'))))
  t.match(parseCompartmentBatch(333), { kind: 'batch' })
  t.throws(() => parseCompartmentBatch(334), { code: 'BAD_REQUEST' }, 'a compartment with four ways into it')
  t.match(
    (parseBundle(buildBundle('batch', buildEntry('GET', buildUrl(21)))) as Batch).entries[0],
    { failure: { code: 'BAD_REQUEST' } },
    'an entry with too many is refused alone'
  )
})

t.test('a transaction may hold a thousand different references by criteria', async t => {
  const countReferences = (...entries: object[]) => (parseBundle(buildBundle('transaction', ...entries)) as Transaction).references.size
  t.equal(countReferences(...repeat(1_000, buildReferenceEntry)), 1_000)
  const two = buildEntry(
    'POST',
    'Observation',
    buildObservation('Patient?identifier=a', { focus: [{ reference: 'Patient?identifier=b' }] })
  )
  t.equal(countReferences(...repeat(998, buildReferenceEntry), two), 1_000)
  t.throws(() => countReferences(...repeat(999, buildReferenceEntry), two), {
    code: 'BAD_REQUEST',
    message: /at most 1000 different conditional references/
  })
})

t.test(
  'of the searches that a request becomes eight are under way at once, and no other is begun when one fails',
  async t => {
    const sandbox = await startTestSandbox(t)
    const { backend: real, guard } = createGateway(sandbox.url)
    let [active, maxActive, all, failing] = [0, 0, 0, 0]
    const backend = decorateBackend(real, {
      send: async request => {
        if (++all === failing) throw new Failure('BACKEND_ERROR')
        maxActive = Math.max(maxActive, ++active)
        try {
          return await real.send(request)
        } finally {
          active--
        }
      }
    })
    const store = guard(newTenant(), { backend })
    await store.perform(parseSearch(...repeat(20, buildChain)))
    t.strictSame([maxActive, all], [8, 20])
    maxActive = 0
    t.equal(
      (await catchFailure(store.perform(parseBundle(buildBundle('transaction', ...repeat(30, buildReferenceEntry)))))).code,
      'VALIDATION_ERROR'
    )
    t.equal(maxActive, 8)
    all = 0
    failing = 5
    t.equal((await catchFailure(store.perform(parseSearch(...repeat(20, buildChain))))).code, 'BACKEND_ERROR')
    t.equal(all, 8, 'none after the failed one')
  }
)

// Two hundred conditions, 2 KB of a request that counts once, occupied HAPI for half a minute; so did 20,000 values.
t.test('a search has fifty conditions and five thousand values at most', async t => {
  const buildConditions = (length: number) => repeat(length, at => ['identifier', `${at}`] as const)
  const list = (length: number) => repeat(length, at => `a\\,${at}`).join(',')
  const refused = { code: 'BAD_REQUEST' }
  t.match(parseSearch(...buildConditions(50)), { kind: 'search' })
  t.throws(() => parseSearch(...buildConditions(51)), refused)
  t.throws(() => parseSearch(...buildConditions(49), ['_sort', 'date,-status']), refused, 'each key to sort by takes a join too')
  t.throws(() => parseSearch(...buildConditions(31), ...repeat(20, buildChain)), refused, 'so does a chain')
  t.match(parseSearch(['_id', list(5_000)]), { kind: 'search' })
  t.throws(() => parseSearch(['_id', list(5_001)]), refused)
  t.throws(() => parseSearch(['identifier', list(3_000)], ['subject:Patient.identifier', list(2_001)]), refused)
})
