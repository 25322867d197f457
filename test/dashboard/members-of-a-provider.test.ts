import { test } from 'tap'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { createSignedInVisitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('where members sign in through a provider only, no invitation link can be created', async t => {
  const oidc = { issuer: 'https://login.example.org', clientId: 'clinigate' }
  for (const localAccounts of [true, false]) {
    const gateway = await startGateway(t, { config: { dashboard: { localAccounts, oidc } } })
    const tenantId = await gateway.createOrganization()
    const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
    const path = `/dashboard/organizations/${tenantId}/members`
    const { html, status } = await admin.get(path)
    t.equal(status, 200)
    t.equal(html.includes(`action="${path}"`), localAccounts)
    const sent = await admin.send(path, {
      _csrf: await admin.fetchToken(),
      email: 'bob@example.org',
      role: 'viewer',
      once: createIdempotencyToken()
    })
    t.equal(sent.status, localAccounts ? 201 : 404)
    t.equal((await gateway.control.invitations.list(tenantId)).length, localAccounts ? 1 : 0)
  }
})
