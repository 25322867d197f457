import t, { type Test } from 'tap'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import type { BackendRequest } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import { Failure, maxIssues } from '../../src/envelope/failures.js'
import type { Batch, Transaction } from '../../src/tenant-guard/interaction.js'
import { maxReferencedRecords } from '../../src/tenant-guard/writes/references.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { failureOf, gatewayTo, newTenant } from '../tenant-guard/guarded.js'
import { bundle, entry, isRefused, observation, sender } from './fixture.js'

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

/** A datastore that has nothing and says what it was asked. */
function requested () {
  const sent: BackendRequest[] = []
  const { backend: real, guard } = gatewayTo('http://datastore.test/fhir')
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
t.test('a request refers to ten thousand records, and is refused before any search when it refers to more', async t => {
  const half = maxReferencedRecords / 2
  const both = (type: string, more: number) => ({
    path: [],
    body: bundle(
      type,
      ...[0, half].map(from =>
        entry(
          'POST',
          'List',
          listOf(half + (from && more), at => `Patient/x${from + at}`)
        )
      )
    )
  })
  for (const [name, most, tooMany] of [
    [
      'create',
      { path: ['List'], body: listOf(maxReferencedRecords, at => `Patient/x${at}`) },
      { path: ['List'], body: listOf(maxReferencedRecords + 1, at => `Patient/x${at}`) }
    ],
    ['transaction', both('transaction', 0), both('transaction', 1)],
    ['batch', both('batch', 0), both('batch', 1)]
  ] as const) {
    const { sent, store } = requested()
    await store.perform(parseInteraction({ ...plain, ...most })).catch(error => t.type(error, Failure))
    t.equal(sent.length, 50, `${name}: all are looked up`)
    sent.length = 0
    t.match(
      await failureOf(store.perform(parseInteraction({ ...plain, ...tooMany }))),
      { code: 'VALIDATION_ERROR', message: /at most 10000 different records/, issues: [{ code: 'too-costly' }] },
      name
    )
    t.equal(sent.length, 0, `${name}: none is looked up`)
  }
  const { sent, store } = requested()
  await failureOf(
    store.perform(
      parseInteraction({ ...plain, path: ['List'], body: listOf(2 * maxReferencedRecords, () => 'Patient/x') })
    )
  )
  t.equal(sent.length, 1, 'one record is one, however often it is referred to')
})

// 400,000 references to nothing were told in 68 MB.
t.test('of the references at fault the first hundred are told', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const send = sender(gateway, secret)
  const told = (items: readonly object[], named: (at: number) => string, name: string) => {
    t.equal(items.length, maxIssues, name)
    t.match(items.slice(0, -1), Array.from({ length: maxIssues - 1 }, (_, at) => ({ expression: [named(at)] })), name)
    t.match(items.at(-1), { code: 'too-costly', diagnostics: /^Only the first 100 issues are listed/ }, name)
  }
  const faulty = listOf(1_000, () => 'x')
  const alone = await send('POST', '/List', faulty)
  isRefused(t, alone, 422, 'alone')
  told(alone.resource.issue, at => `List.entry[${at}].item`, 'alone')
  told(
    (await send('POST', '', bundle('transaction', entry('POST', 'List', faulty)))).resource.issue,
    at => `Bundle.entry[0].resource.entry[${at}].item`,
    'in a transaction'
  )
  await inSimpleForm(t, gateway, secret, told)
})

async function inSimpleForm (
  t: Test,
  gateway: Awaited<ReturnType<typeof startGateway>>,
  secret: string,
  told: (items: readonly object[], named: (at: number) => string, name: string) => void
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
    told(response.json().issues, at => `managingOrganizationIds[${at}]`, name)
  }
}

const plainRequest = { isLenient: false, showsWritten: false, fhirBase: 'http://gateway.test/v1/fhir' }
const search = (...query: ReadonlyArray<readonly [string, string]>) =>
  parseInteraction({ ...plainRequest, method: 'POST', path: ['Observation', '_search'], query })
const sent = (body: object) => parseInteraction({ ...plainRequest, method: 'POST', path: [], query: [], body })
const times = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at))
const typed = (at: number) => ['subject:Patient.family', `x${at}`] as const
const reference = (at: number) => entry('POST', 'Observation', observation(`Patient?identifier=${at}`))

// 1,500 chains in one form were as many searches in the datastore, or five times more, for one request that counted.
t.test(
  'a search may become twenty others, and a chain without a type counts for each type that it may lead to',
  async t => {
    t.match(search(...times(20, typed)), { kind: 'search' })
    t.match(search(...times(19, typed), ['_has:Provenance:target:agent', 'Practitioner/1']), { kind: 'search' })
    for (const [name, query] of [
      ['typed', times(21, typed)],
      ['_has', times(21, at => ['_has:Provenance:target:agent', `Practitioner/${at}`] as const)],
      ['untyped', times(11, at => ['subject.identifier', `x${at}`] as const)],
      ['1500', times(1_500, typed)]
    ] as const) {
      t.throws(() => search(...query), { code: 'BAD_REQUEST', message: /at most 20 chains/ }, name)
    }
  }
)

t.test('the searches of a Bundle may become a thousand others', async t => {
  const url = (joins: number) => `Observation?${times(joins, at => typed(at).join('=')).join('&')}`
  for (const type of ['batch', 'transaction']) {
    t.match(sent(bundle(type, ...times(50, () => entry('GET', url(20))))), { kind: type })
    t.throws(
      () => sent(bundle(type, ...times(50, () => entry('GET', url(20))), entry('GET', url(1)))),
      { code: 'BAD_REQUEST', message: /at most 1000 chains/ },
      type
    )
  }
  const within = (entries: number) => sent(bundle('batch', ...times(entries, () => entry('GET', 'Patient/1/Coverage'))))
  t.match(within(333), { kind: 'batch' })
  t.throws(() => within(334), { code: 'BAD_REQUEST' }, 'a compartment with four ways into it')
  t.match(
    (sent(bundle('batch', entry('GET', url(21)))) as Batch).entries[0],
    { failure: { code: 'BAD_REQUEST' } },
    'an entry with too many is refused alone'
  )
})

t.test('a transaction may hold a thousand different references by criteria', async t => {
  const sizeOf = (...entries: object[]) => (sent(bundle('transaction', ...entries)) as Transaction).references.size
  t.equal(sizeOf(...times(1_000, reference)), 1_000)
  const two = entry(
    'POST',
    'Observation',
    observation('Patient?identifier=a', { focus: [{ reference: 'Patient?identifier=b' }] })
  )
  t.equal(sizeOf(...times(998, reference), two), 1_000)
  t.throws(() => sizeOf(...times(999, reference), two), {
    code: 'BAD_REQUEST',
    message: /at most 1000 different conditional references/
  })
})

t.test(
  'of the searches that a request becomes eight are under way at once, and no other is begun when one fails',
  async t => {
    const sandbox = await startTestSandbox(t)
    const { backend: real, guard } = gatewayTo(sandbox.url)
    let [underWay, most, all, failing] = [0, 0, 0, 0]
    const backend = decorateBackend(real, {
      send: async request => {
        if (++all === failing) throw new Failure('BACKEND_ERROR')
        most = Math.max(most, ++underWay)
        try {
          return await real.send(request)
        } finally {
          underWay--
        }
      }
    })
    const store = guard(newTenant(), { backend })
    await store.perform(search(...times(20, typed)))
    t.strictSame([most, all], [8, 20])
    most = 0
    t.equal(
      (await failureOf(store.perform(sent(bundle('transaction', ...times(30, reference)))))).code,
      'VALIDATION_ERROR'
    )
    t.equal(most, 8)
    all = 0
    failing = 5
    t.equal((await failureOf(store.perform(search(...times(20, typed))))).code, 'BACKEND_ERROR')
    t.equal(all, 8, 'none after the failed one')
  }
)

// Two hundred conditions, 2 KB of a request that counts once, kept HAPI busy for half a minute; so did 20,000 values.
t.test('a search has fifty conditions and five thousand values at most', async t => {
  const conditions = (length: number) => times(length, at => ['identifier', `${at}`] as const)
  const list = (length: number) => times(length, at => `a\\,${at}`).join(',')
  const refused = { code: 'BAD_REQUEST' }
  t.match(search(...conditions(50)), { kind: 'search' })
  t.throws(() => search(...conditions(51)), refused)
  t.throws(() => search(...conditions(49), ['_sort', 'date,-status']), refused, 'each key to sort by takes a join too')
  t.throws(() => search(...conditions(31), ...times(20, typed)), refused, 'so does a chain')
  t.match(search(['_id', list(5_000)]), { kind: 'search' })
  t.throws(() => search(['_id', list(5_001)]), refused)
  t.throws(() => search(['identifier', list(3_000)], ['subject:Patient.identifier', list(2_001)]), refused)
})
