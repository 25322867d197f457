import { test } from 'tap'
import { newIdempotencyToken } from '../../src/control-plane/store/context.js'
import { signedIn, visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('a member is not invited to the same organization again, but may be to another one', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  const people = `/dashboard/organizations/${tenantId}/members`
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@clinic.example', role: 'viewer' },
    'test'
  )
  await gateway.control.invitations.accept(token, { name: 'Ann', password: 'a sentence for a test' })
  const refused = await admin.post(people, { once: newIdempotencyToken(), email: 'Ann@clinic.example', role: 'admin' })
  t.equal(refused.status, 409)
  t.match(refused.text, /Someone with this address is already a member/)
  t.match(refused.html, /value="Ann@clinic\.example"/, 'the form is there to write another address')
  t.same(await gateway.control.invitations.list(tenantId), [])
  t.ok(
    await gateway.control.invitations.create(
      { tenantId: await gateway.createOrganization(), email: 'ann@clinic.example', role: 'viewer' },
      'test'
    )
  )
})

test('the link of an invitation that was used says so, with the words for a link that never was', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@clinic.example', role: 'viewer' },
    'test'
  )
  await gateway.control.invitations.accept(token, { name: 'Ann', password: 'a sentence for a test' })
  const [used, never] = await Promise.all(
    [token, 'A'.repeat(43)].map(one => visitor(gateway).get(`/dashboard/invitations/${one}`))
  )
  t.equal(used!.status, 404)
  t.match(used!.text, /used, withdrawn or has expired; ask for a new one/)
  t.equal(used!.text, never!.text)
})
