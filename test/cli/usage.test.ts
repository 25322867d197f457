import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { readLedgerLines } from '../../src/limits/usage-ledger/file.js'
import { calculateOverageAmount } from '../../src/control-plane/store/bill.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { runCommand } from './command.js'

const plans = { pro: { requestsPerMinute: null, requestsPerMonth: 3, overage: true } }

t.test('a bill is exact to the hour, and can be recomputed from the ledger', async t => {
  const clock = { now: new Date('2030-01-15T12:30:00Z') }
  const gateway = await startGateway(t, { plans, now: () => clock.now })
  const { secret, tenantId } = await gateway.createKey({ mode: 'live' })
  const test = await gateway.createKey({ tenantId })
  const sendRequest = async (key: string) => await gateway.inject({ url: '/v1/patients/none', headers: { 'x-api-key': key } })
  for (let i = 0; i < 4; i++) await sendRequest(secret)
  await sendRequest(test.secret)
  clock.now = new Date('2030-01-15T13:00:00Z')
  await sendRequest(secret)
  clock.now = new Date('2030-02-01T00:00:00Z')
  await sendRequest(secret)
  await waitUntil(async () => (await gateway.control.usage.getBill(tenantId, '2030-02')).counted === 1)
  // The ledger records a request a moment after its response.
  await waitUntil(() => readLedgerLines(join(gateway.dataDirectory, 'usage.db'), 'unsent').length === 0)

  const environment = {
    CLINIGATE_DATA: gateway.dataDirectory,
    CLINIGATE_PLANS: join(gateway.dataDirectory, '..', 'plans.json')
  }
  const bill = await runCommand(environment, 'usage', 'bill', '--tenant', tenantId, '--month', '2030-01')
  t.same(JSON.parse(bill.out), {
    tenantId,
    month: '2030-01',
    currency: 'USD',
    counted: 5,
    overage: 2,
    amount: '0.006',
    hours: [
      { hour: '2030-01-15T12:00:00Z', counted: 4, overage: 1, amount: '0.003' },
      { hour: '2030-01-15T13:00:00Z', counted: 1, overage: 1, amount: '0.003' }
    ]
  })
  const csv = await runCommand(environment, 'usage', 'bill', '--tenant', tenantId, '--month', '2030-01', '--csv')
  t.equal(
    csv.out,
    'hour,counted,overage,amount_usd\r\n2030-01-15T12:00:00Z,4,1,0.003\r\n2030-01-15T13:00:00Z,1,1,0.003\r\n2030-01,5,2,0.006\r\n'
  )

  const again = await runCommand(environment, 'usage', 'recompute', '--month', '2030-01')
  t.equal(again.code, 0)
  t.match(JSON.parse(again.out), [
    {
      tenantId,
      ledger: { counted: 5, overage: 2 },
      unsent: { counted: 0 },
      controlPlane: { counted: 5, overage: 2 },
      agrees: true
    }
  ])
  const other = await startGateway(t, { plans })
  const lost = await runCommand(
    { ...environment },
    'usage',
    'recompute',
    '--month',
    '2030-01',
    '--ledger',
    join(other.dataDirectory, 'usage.db')
  )
  t.match(lost, { code: 1, err: '' }, 'what does not agree is told')
  t.match(JSON.parse(lost.out), [{ ledger: { counted: 0 }, agrees: false }])
  t.match(await runCommand(environment, 'usage', 'bill', '--tenant', tenantId, '--month', '2030-13'), { code: 2 })
})

/**
 * The requirements of the specification for an event:
 * https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md.
 */
const cloudEvent = {
  specversion: '1.0',
  id: /^[0-9a-f]{64}$/,
  source: /^urn:clinigate:usage-ledger:[a-z2-7]{26}$/,
  type: 'clinigate.usage',
  time: /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/,
  datacontenttype: 'application/json'
}

t.test('exports of usage that overlap count each request once, by the ids of their events', async t => {
  const clock = { now: new Date('2020-01-15T12:30:00Z') }
  const gateway = await startGateway(t, { now: () => clock.now })
  const { secret, tenantId, keyId } = await gateway.createKey({ mode: 'live' })
  const environment = { CLINIGATE_DATA: gateway.dataDirectory }
  const file = join(gateway.dataDirectory, 'usage.db')
  const sendRequest = async (url: string) => await gateway.inject({ url, headers: { 'x-api-key': secret } })
  const exportUsage = async (to: string, from = '2020-01-01') => {
    const { code, out, err } = await runCommand(
      environment, 'usage', 'export', '--format', 'cloudevents', '--settle', '0', '--from', from, '--to', to
    )
    t.match({ code, err }, { code: 0, err: '' })
    return out.split('\n').slice(0, -1).map(line => JSON.parse(line))
  }
  await sendRequest('/v1/patients/none')
  await waitUntil(() => readLedgerLines(file, 'unsent').length === 0)
  // In another batch, and so twice in the file.
  await sendRequest('/v1/patients/none')
  await sendRequest('/v1/patients')
  clock.now = new Date('2020-01-15T13:59:59.999Z')
  await sendRequest('/v1/patients/none')
  clock.now = new Date('2020-01-15T14:00:00Z')
  await sendRequest('/v1/patients/none')
  await waitUntil(() => readLedgerLines(file).reduce((sum, { count }) => sum + count, 0) === 5)

  const first = await exportUsage('2020-01-15T13:00:00Z')
  const all = await exportUsage('2020-01-15T14:00:00Z')
  const use = { mode: 'live', keyId, resource: 'patients', isCounted: true, isOverage: false }
  t.match(first, [
    { ...cloudEvent, subject: tenantId, time: '2020-01-15T12:00:00Z' },
    { ...cloudEvent, subject: tenantId, time: '2020-01-15T12:00:00Z' }
  ])
  t.strictSame(all.map(({ data, time }) => [time, data]).sort(), [
    ['2020-01-15T12:00:00Z', { ...use, interaction: 'read', outcome: 'error', requests: 2 }],
    ['2020-01-15T12:00:00Z', { ...use, interaction: 'search', outcome: 'ok', requests: 1 }],
    ['2020-01-15T13:00:00Z', { ...use, interaction: 'read', outcome: 'error', requests: 1 }]
  ].sort(), 'nothing of the hour that is going on')
  t.equal(new Set(all.map(({ id }) => id)).size, 3)
  const byId = new Map([...first, ...all].map(event => [event.id, event]))
  t.strictSame(first.map(({ id }) => byId.get(id)), first, 'an event that is sent again is the same')
  t.equal(byId.size, 3)
  t.strictSame(await exportUsage('2020-01-15T14:00:00Z', '2020-01-15T13:00:00Z'), all.slice(2))
})

t.test('usage of hours that may still grow is not exported, and reported as missing', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey({ mode: 'live' })
  const environment = { CLINIGATE_DATA: gateway.dataDirectory }
  await gateway.inject({ url: '/v1/patients/none', headers: { 'x-api-key': secret } })
  await waitUntil(() => readLedgerLines(join(gateway.dataDirectory, 'usage.db')).length === 1)
  const args = ['usage', 'export', '--format', 'cloudevents']
  t.match(await runCommand(environment, ...args), { code: 0, out: '', err: /^Not exported yet: 1 requests in the hours from / })
  t.match(await runCommand(environment, ...args, '--to', new Date().toISOString()), {
    code: 1, out: '', err: /are not settled yet; choose an earlier --to, or a shorter --settle/
  })
  t.match(await runCommand(environment, 'usage', 'export', '--format', 'csv'), { code: 2, out: '' })
  t.match(await runCommand(environment, 'usage', 'export'), { code: 2, out: '' })
  t.match(await runCommand(environment, ...args, '--ledger', join(gateway.dataDirectory, 'none.db')), {
    code: 1, out: '', err: /none\.db cannot be read as a ledger/
  })
})

t.test('an amount has no rounding, however large', async t => {
  t.equal(calculateOverageAmount(0), '0.000')
  t.equal(calculateOverageAmount(1), '0.003')
  t.equal(calculateOverageAmount(334), '1.002')
  t.equal(calculateOverageAmount(9_007_199_254_740_991), '27021597764222.973')
})

// The message was "file is not a database" or "no such table: waiting", or named the data directory where another file
// was meant.
t.test('a missing ledger, a file that is no database and another database are reported by name, with what to do', async t => {
  const directory = t.testdir({ 'text.db': 'no database, but long enough to be taken for one'.repeat(50) })
  new Database(join(directory, 'other.db')).exec('CREATE TABLE x (y)').close()
  for (const name of ['missing.db', 'text.db', 'other.db']) {
    const file = join(directory, name)
    const { code, out, err } = await runCommand(
      { CLINIGATE_DATA: directory },
      'usage',
      'recompute',
      '--month',
      '2030-01',
      '--ledger',
      file
    )
    t.strictSame([code, out], [1, ''])
    t.ok(err.startsWith(`clinigate: ${file} cannot be read as a ledger (SQLITE_`), err)
    t.match(err, '--ledger')
  }
  t.match(await runCommand({ CLINIGATE_DATA: directory }, 'usage', 'recompute', '--month', '2030-01'), {
    code: 1,
    err: /usage\.db cannot be read as a ledger .* CLINIGATE_DATA/
  })
})
