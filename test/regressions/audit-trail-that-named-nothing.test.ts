import { test } from 'tap'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('the audit trail names what was revoked, and what a line is about', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { control } = gateway
  const { keyId } = await control.keys.create({ tenantId, name: 'intake form', mode: 'live' }, 'member:ann@example.org')
  const { tokenId } = await control.tokens.create(
    { tenantId, name: 'deployment', role: 'viewer' },
    'member:ann@example.org'
  )
  await control.keys.revoke(keyId, 'member:ann@example.org')
  await control.tokens.revoke(tokenId, 'member:ann@example.org')
  const viewer = await signedIn(gateway, { role: 'viewer', tenantId })
  const path = `/dashboard/organizations/${tenantId}/audit`
  const { text } = await viewer.get(path)
  t.match(text, /revoked a token deployment /)
  t.match(text, /revoked a key intake form /)
  t.match(text, /made a key name: intake form, mode: live, scopes: read, write/)
  t.match((await viewer.get(`${path}?entity=${keyId}`)).text, `What was done with “intake form” (${keyId}).`)
})
