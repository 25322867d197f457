import t, { type Test } from 'tap'
import { decorateBackend } from '../../src/backends/decorate.js'
import type { BackendRequest } from '../../src/backends/backend.js'
import { Failure, maxIssues } from '../../src/envelope/failures.js'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import { maxReferencedRecords } from '../../src/tenant-guard/writes/references.js'
import { startGateway } from '../harness/gateway.js'
import { bundle, entry, isRefused, sender } from '../passthrough/fixture.js'
import { failureOf, gatewayTo, newTenant } from '../tenant-guard/guarded.js'

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
