import { test } from 'tap'
import { newIdempotencyToken } from '../../src/control-plane/store/context.js'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('an invitation that is refused keeps the chosen role, so that nobody is invited to another one', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  const path = `/dashboard/organizations/${tenantId}/members`
  const refused = await admin.post(path, { once: newIdempotencyToken(), email: 'ann@clinic', role: 'admin' })
  t.equal(refused.status, 422)
  t.match(refused.html, /value="ann@clinic"/)
  t.match(refused.html, /value="admin" checked/)
})

test('a change of an organization that is refused shows the form with what was typed', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const operator = await signedIn(gateway, { role: 'operator' })
  const refused = await operator.post(`/dashboard/organizations/${tenantId}`, {
    name: 'Clinic North',
    plan: 'enterprise',
    datastore: 'no such name'
  })
  t.equal(refused.status, 422)
  t.match(refused.text, /The name of a datastore must have/)
  t.match(refused.html, /value="Clinic North"/)
  t.match(refused.html, /value="enterprise" selected/)
  t.match(refused.html, /value="no such name"/)
})

test('a last day that is refused stays in the form of a token and of a key', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { keyId } = await gateway.createKey({ tenantId })
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  const forms = [
    await admin.post(`/dashboard/organizations/${tenantId}/tokens`, {
      once: newIdempotencyToken(),
      name: 'deployment',
      role: 'viewer',
      lastDay: '2020-01-31'
    }),
    await admin.post(`/dashboard/keys/${keyId}`, { lastDay: '2020-01-31' })
  ]
  for (const { status, html } of forms) {
    t.equal(status, 422)
    t.match(html, /type="date" value="2020-01-31"/)
  }
})
