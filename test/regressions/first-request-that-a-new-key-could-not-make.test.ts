import { test } from 'tap'
import { newIdempotencyToken } from '../../src/control-plane/store/context.js'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('a new key is shown with a request that it may make, and a key that only writes with none', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  for (const scopes of ['*', 'read', 'write']) {
    const { text } = await admin.post(`/dashboard/organizations/${tenantId}/keys/new`, {
      once: newIdempotencyToken(),
      name: 'Intake form',
      mode: 'test',
      scopes
    })
    t.match(text, 'Copy the secret now.')
    t.equal(text.includes('It lists the patients'), scopes !== 'write', scopes)
  }
  const { keyId } = await gateway.createKey({ tenantId, scopes: ['write'] })
  t.notMatch((await admin.post(`/dashboard/keys/${keyId}/roll`, { overlap: 'now' })).text, 'It lists the patients')
})
