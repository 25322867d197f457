import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { onceContract } from '../passthrough/once-contract.js'

const sandbox = await startTestSandbox(t)
await onceContract(t, sandbox.url)

await t.test('the management API refuses a key, since it does each request that it is sent', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'a test token' }, 'test')
  const response = await gateway.inject({
    method: 'POST',
    url: '/control/v1/organizations',
    headers: { authorization: `Bearer ${secret}`, 'idempotency-key': 'key' },
    payload: { name: 'clinic', plan: 'pro' }
  })
  t.match(response.json(), { code: 'BAD_REQUEST', message: /^Idempotency-Key: / })
})
t.end()
