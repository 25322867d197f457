import { test } from 'tap'
import { signedIn, type Page } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

test('the usage tells a key that was rolled from the key that followed it, which has the same name', async t => {
  const gateway = await startGateway(t)
  const { tenantId, keyId, secret } = await gateway.createKey()
  const { secret: next, keyId: nextId } = await gateway.control.keys.roll(keyId, 3_600_000, 'test')
  await gateway.catchUp()
  for (const key of [secret, next]) await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': key } })
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  const read = async () => await admin.get(`/dashboard/organizations/${tenantId}/usage`)
  const isThere = ({ html }: Page) => [keyId, nextId].every(id => html.includes(`/keys/${id}"`))
  await until(async () => isThere(await read()))
  const { text } = await read()
  t.match(text, `a test key …${secret.slice(-4)} 1`)
  t.match(text, `a test key …${next.slice(-4)} 1`)
})
