import t from 'tap'
import { createStatusCache } from '../../src/bootstrap/reports.js'
import type { Check } from '../../src/http/health.js'

t.test('a check that is slow once does not bring back an outdated status afterwards', async t => {
  const pending: Array<(check: Check) => void> = []
  const statuses = createStatusCache({ datastore: () => new Promise(resolve => { pending.push(resolve) }) })
  const respond = async (run: number, status: Check['status']) => {
    pending[run]?.({ status })
    await new Promise(setImmediate)
  }
  const first = statuses()
  await respond(0, 'ok')
  t.strictSame(await first, { datastore: 'ok' })
  // A second and a third report begin before the check of the second has responded.
  await statuses()
  await statuses()
  t.equal(pending.length, 2, 'one run at a time')
  await respond(2, 'ok')
  await respond(1, 'degraded')
  await statuses()
  await respond(2, 'ok')
  t.strictSame(await statuses(), { datastore: 'ok' }, 'the status of the run that began last')
})
