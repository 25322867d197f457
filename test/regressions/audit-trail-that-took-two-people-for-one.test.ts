import { test } from 'tap'
import { controlServiceFor } from '../../src/control-plane/store/desk.js'
import { toActor } from '../../src/control-plane/store/members.js'
import { signedIn, visitor } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

const email = 'boss@service.example'
const password = 'a sentence that only I know'

async function join ({ control }: TestGateway, tenantId: string): Promise<string> {
  const { token } = await control.invitations.create({ email, role: 'admin', tenantId }, 'test')
  return (await control.invitations.accept(token, { name: 'Boss', password })).memberId
}

test('the audit trail tells people with the same address apart, in all that they did', async t => {
  const gateway = await startGateway(t)
  const { control } = gateway
  const [tenantId, other] = [await gateway.createOrganization(), await gateway.createOrganization()]
  const [memberId, another] = [await join(gateway, tenantId), await join(gateway, other)]
  const browser = visitor(gateway)
  await browser.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')
  await browser.post('/dashboard/choose-organization', { member: memberId }, '/dashboard/choose-organization')
  await control.members.changePassword(memberId, { current: password, requested: 'another sentence of mine' })
  t.same(
    (await control.auditTrail({ entity: memberId, limit: 10 })).map(({ actor, action }) => `${actor}: ${action}`),
    [
      `member:${email} (${memberId}): password changed`,
      `member:${email} (${memberId}): signed in`,
      `member:${email} (${memberId}): member added`
    ]
  )
  t.match(await control.auditTrail({ entity: another, limit: 1 }), [{ actor: `member:${email} (${another})` }])
  const ann = await signedIn(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  await controlServiceFor(control, toActor(ann.member)).createKey({ tenantId, name: 'intake', mode: 'test' })
  t.match(await control.auditTrail({ tenantId, limit: 1 }), [
    { action: 'key created', actor: `member:ann@example.org (${ann.member.memberId})` }
  ])
  t.match((await ann.get(`/dashboard/organizations/${tenantId}/audit`)).text, `${email} ${memberId} signed in`)
})

test('a line from before members had their id in it is shown as it was', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  await gateway.control.keys.create({ tenantId, name: 'intake', mode: 'test' }, `member:${email}`)
  const viewer = await signedIn(gateway, { role: 'viewer', tenantId })
  t.match((await viewer.get(`/dashboard/organizations/${tenantId}/audit`)).text, `${email} made a key`)
})
