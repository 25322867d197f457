import t from 'tap'
import { importer, ndjson } from '../jobs/importing.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { startWatched } from '../harness/recording-backend.js'

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
    const client = importer(gateway, secret)
    const transaction = watched.hold('request', 'POST')
    const started = await client.send(
      ndjson([...Array(lines).keys()].map(at => ({ firstName: 'Ada', lastName: `N${at}` }))),
      '?resourceType=patients'
    )
    const held = await transaction
    await gateway.control.organizations.change(tenantId, change, 'test')
    await gateway.catchUp()
    t.match(await client.get('/patients'), { status: 429, body: { code: 'MONTHLY_QUOTA_EXCEEDED' } })
    await held.pass()
    const { id } = await client.ended(started.body.data.jobId)
    const results = await client.results(id)
    const written = results.filter(({ status }) => status === 'created')
    t.ok(written.length > 0 && written.length < lines, `${written.length} lines had their place before the change`)
    t.ok(results.every(({ status, code }) => status === 'created' || code === 'MONTHLY_QUOTA_EXCEEDED'))
    t.equal((await client.get('/usage')).body.data.used, written.length + 1, 'the import itself was a request')
  })
}
