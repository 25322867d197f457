import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/control-plane/store/database.js'
import { up } from '../../src/control-plane/store/migrations/005-states-that-gateways-take.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { recordQuota } from '../../src/limits/record-quota.js'
import { readLedgerLines } from '../../src/limits/usage-ledger/file.js'
import { MonthlyUsage } from '../../src/limits/usage-ledger/month-counts.js'
import { startGateway } from '../harness/gateway.js'
import { startWatched } from '../harness/recording-backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { createImporter, toNdjson } from '../jobs/importing.js'
import { createLedgerPath, openLedger } from './usage-samples.js'

const plans = {
  sandbox: { requestsPerMinute: null, requestsPerMonth: 100, overage: false },
  pro: { requestsPerMinute: null, requestsPerMonth: 100, overage: true },
  team: { requestsPerMinute: null, requestsPerMonth: 100_000, overage: true }
}

const lines = 1_000

for (const { from, change, how } of [
  { from: 'pro', change: { overage: false }, how: 'overage that was switched off' },
  { from: 'team', change: { plan: 'sandbox' }, how: 'a plan that was changed for a smaller one' }
]) {
  t.test(`${how} ends a running import's use of the month, as it does that of requests`, async t => {
    const sandbox = await startTestSandbox(t)
    const watched = await startWatched(sandbox.url)
    t.after(() => watched.close())
    const gateway = await startGateway(t, { plans, fhirUrl: watched.url })
    const { secret, tenantId } = await gateway.createKey({ plan: from, mode: 'live' })
    const client = createImporter(gateway, secret)
    const transaction = watched.hold('request', 'POST')
    const started = await client.send(
      toNdjson([...Array(lines).keys()].map(at => ({ firstName: 'Ada', lastName: `N${at}` }))),
      '?resourceType=patients'
    )
    const held = await transaction
    await gateway.control.organizations.change(tenantId, change, 'test')
    await gateway.catchUp()
    t.match(await client.get('/patients'), { status: 429, body: { code: 'MONTHLY_QUOTA_EXCEEDED' } })
    await held.pass()
    const { id } = await client.waitForEnd(started.body.data.jobId)
    const results = await client.fetchResults(id)
    const written = results.filter(({ status }) => status === 'created')
    t.ok(written.length > 0 && written.length < lines, `${written.length} lines had their place before the change`)
    t.ok(results.every(({ status, code }) => status === 'created' || code === 'MONTHLY_QUOTA_EXCEEDED'))
    t.equal((await client.get('/usage')).body.data.used, written.length + 1, 'the import itself was a request')
  })
}

const smallMonth = { pro: { requestsPerMinute: null, requestsPerMonth: 4, overage: false } }

const people = Array.from({ length: 5 }, (_, i) => ({ firstName: 'Ada', lastName: `Byron ${i}` }))

t.test(
  'a caller that has used up its month can still read the results of its records, and its month, without using more',
  async t => {
    const gateway = await startGateway(t, { plans: smallMonth })
    const { secret } = await gateway.createKey()
    const { job, results } = await createImporter(gateway, secret).run(people, '?resourceType=patients')
    t.match(job, { status: 'completed', processedRecords: 5 })
    t.match(results.at(-1), { code: 'SANDBOX_QUOTA_EXCEEDED' })
    const sendRequest = async (path: string, method: 'GET' | 'HEAD' | 'DELETE' = 'GET') =>
      await gateway.inject({ method, url: `/v1/${path}`, headers: { 'x-api-key': secret } })
    for (const path of [
      `bulk/jobs/${job.id}`,
      `bulk/jobs/${job.id}/results`,
      'bulk/jobs',
      'usage',
      `fhir/_import/${job.id}`
    ]) {
      for (const method of ['GET', 'HEAD'] as const) {
        const response = await sendRequest(path, method)
        t.match(
          [response.statusCode, response.headers['x-quota-used'], response.headers['x-quota-overage']],
          [200, '4', undefined],
          `${method} ${path}`
        )
      }
    }
    t.match((await sendRequest('usage')).json().data, { used: 4, remaining: 0, overage: 0 })
    t.equal((await sendRequest(`bulk/jobs/${job.id}/files/Patient.ndjson`)).statusCode, 404, 'an import has no files')
    t.equal((await sendRequest('patients')).statusCode, 429)
    t.equal((await sendRequest('bulk/export')).statusCode, 429, 'what is not there is no way past the month')
    t.equal(
      (
        await gateway.inject({
          method: 'POST',
          url: '/v1/bulk/export',
          headers: { 'x-api-key': secret, 'content-type': 'application/json' },
          payload: '{}'
        })
      ).statusCode,
      429
    )
    t.equal((await sendRequest(`bulk/jobs/${job.id}`, 'DELETE')).statusCode, 200)
  }
)

t.test("the limit per minute also applies to requests past the month's quota", async t => {
  const gateway = await startGateway(t, {
    plans: { pro: { requestsPerMinute: 3, requestsPerMonth: 1, overage: false } }
  })
  const { secret } = await gateway.createKey()
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) {
    statuses.push((await gateway.inject({ url: '/v1/usage', headers: { 'x-api-key': secret } })).statusCode)
  }
  t.strictSame(statuses, [200, 200, 200, 429])
})

const owner = { tenantId: 'org-a', mode: 'live', keyId: 'key-a' } as const
const smallMonthWithOverage = { pro: { requestsPerMinute: null, requestsPerMonth: 2, overage: true } }

t.test(
  'a record counts in the month and hour in which it was counted, though its result comes in the next',
  async t => {
    const file = createLedgerPath(t)
    const ledger = openLedger(t, file)
    const months = new MonthlyUsage({ ledger })
    let now = '2030-01-31T23:59:59.900Z'
    const quota = recordQuota({
      plans: smallMonthWithOverage,
      organization: () => ({ plan: 'pro', overage: true }),
      months,
      record: (use, at) => ledger.record(use, at),
      now: () => new Date(now)
    })(owner)
    const early = [quota.take(), quota.take(), quota.take()]
    now = '2030-02-01T00:00:00.200Z'
    const later = quota.take()
    quota.count(
      [...early, later].map(reservation => ({ reservation, type: 'Patient', interaction: 'create', status: 201 }))
    )
    await ledger.flush()
    t.strictSame(
      new Set(readLedgerLines(file).map(({ hour, isOverage, count, lastAt }) => ({ hour, isOverage, count, lastAt }))),
      new Set([
        { hour: '2030-01-31T23:00:00Z', isOverage: false, count: 2, lastAt: '2030-01-31T23:59:59.900Z' },
        { hour: '2030-01-31T23:00:00Z', isOverage: true, count: 1, lastAt: '2030-01-31T23:59:59.900Z' },
        { hour: '2030-02-01T00:00:00Z', isOverage: false, count: 1, lastAt: '2030-02-01T00:00:00.200Z' }
      ])
    )
    for (const month of ['2030-01', '2030-02']) {
      const { own, others } = ledger.getMonthCount(owner, month)
      t.equal(months.countUsed(owner, month), own + others, `what is in memory and what is on the disk of ${month} agree`)
    }
  }
)

t.test(
  'when the clock of the machine is set back by an hour, the minute of an organization and of an address ends all the same',
  async t => {
    const plans = { sandbox: { requestsPerMinute: 2, requestsPerMonth: null, overage: false } }
    const { createKey, inject } = await startGateway(t, { plans, config: { limits: { failedAttemptsPerMinute: 2 } } })
    const { secret } = await createKey({ plan: 'sandbox' })
    const get = (key?: string) =>
      inject({ url: '/v1/patients', headers: key === undefined ? {} : { 'x-api-key': key } })
    const getStatuses = async (key?: string) =>
      [await get(key), await get(key), await get(key)].map(({ statusCode }) => statusCode)

    let [wall, engine] = [Date.now(), performance.now()]
    t.intercept(Date, 'now', { value: () => wall })
    t.intercept(performance, 'now', { value: () => engine })
    t.strictSame(await getStatuses(secret), [200, 200, 429])
    t.strictSame(await getStatuses(), [401, 401, 429])

    wall -= 3_600_000
    for (const key of [secret, undefined]) {
      const seconds = Number((await get(key)).headers['retry-after'])
      t.ok(seconds > 0 && seconds <= 60, `nobody is told to wait for ${seconds} s`)
    }
    wall += 60_001
    engine += 60_001
    t.strictSame(await getStatuses(secret), [200, 200, 429], 'an organization')
    t.strictSame(await getStatuses(), [401, 401, 429], 'an address')
  }
)

t.test('usage in the first second of an hour is reported at once', async t => {
  const store = await openControlStore({
    file: ':memory:',
    plans: ['pro'],
    now: () => new Date('2030-01-16T12:00:00Z')
  })
  t.teardown(() => store.close())
  const line = {
    tenantId: 'org-a',
    mode: 'live',
    keyId: 'key-a',
    hour: '2030-01-16T12:00:00Z',
    resource: 'patients',
    interaction: 'read',
    outcome: 'ok',
    isCounted: true,
    isOverage: false,
    count: 7,
    lastAt: '2030-01-16T12:00:00.000Z'
  } as const
  await store.usage.apply({ ledgerId: 'ledger-a', number: 1, batchId: 'batch-1', lines: [line] }, 'one')
  const countRequests = async (to: string) =>
    (await store.usage.sumUsage({ tenantId: 'org-a', from: new Date('2030-01-16T00:00:00Z'), to: new Date(to) }))
      .totals[0]!.requests
  t.equal(await countRequests('2030-01-16T12:00:00.001Z'), 7)
  t.equal(await countRequests('2030-01-16T12:00:00.000Z'), 0, 'the end itself is left out')
})

// The overage of an organization reached the gateways by the plans of the day of its last change: once its plan got
// overage, the dashboard showed it as on, while gateways rejected requests and suggested to switch it on.
t.test('gateways receive who switched overage off, and apply the current plans', async t => {
  const file = join(t.testdir(), 'control.db')
  const now = () => new Date()
  const before = await openControlStore({ file, plans: ['tiny'], plansWithoutOverage: ['tiny'], now })
  const { tenantId } = await before.organizations.create({ name: 'Clinic', plan: 'tiny' }, 'ann')
  const { tenantId: other } = await before.organizations.create(
    { name: 'Hospital', plan: 'tiny', overage: false },
    'ann'
  )
  const getReportedOverage = async () =>
    Object.fromEntries(
      (await before.listChangesAfter({ feedId: '', seq: 0 }, 100)).changes.map(({ state }) => [
        state.tenantId,
        'overage' in state && state.overage
      ])
    )
  t.equal((await before.organizations.find(tenantId)).overage, false)
  t.strictSame(await getReportedOverage(), { [tenantId]: true, [other]: false })

  const { db, close } = await openDatabase({ file })
  t.teardown(close)
  const { seq } = await db.selectFrom('feed').select('seq').executeTakeFirstOrThrow()
  await db
    .updateTable('changes')
    .set({ payload: JSON.stringify({ tenantId, plan: 'tiny', overage: false }) })
    .where('entity', '=', tenantId)
    .execute()
  await up(db)
  t.strictSame(await getReportedOverage(), { [tenantId]: true, [other]: false }, 'what was told before is told anew')
  t.match(
    (
      await before.listChangesAfter(
        { feedId: (await db.selectFrom('feed').select('feedId').executeTakeFirstOrThrow()).feedId, seq },
        100
      )
    ).changes,
    [{ seq: seq + 1, kind: 'organization', state: { tenantId } }]
  )
  await before.close()
})
