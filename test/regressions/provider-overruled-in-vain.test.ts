import { test } from 'tap'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('a role that a provider gives is changed there alone, for it would be back with the next sign-in', async t => {
  const gateway = await startGateway(t)
  const { control } = gateway
  const tenantId = await gateway.createOrganization()
  const { member: { memberId } } = await signedIn(gateway, { role: 'admin', tenantId, email: 'bob@example.org' })
  const ann = await signedIn(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  const page = await ann.post(`/dashboard/members/${memberId}/role`, { role: 'viewer' })
  t.match(page, { status: 409, text: /role comes from .* provider\. Change it there\./ })
  const { secret } = await control.tokens.create({ tenantId, role: 'admin', name: 'test' }, 'test')
  const response = await gateway.inject({
    method: 'PATCH',
    url: `/control/v1/members/${memberId}`,
    headers: { authorization: `Bearer ${secret}` },
    payload: { role: 'viewer' }
  })
  t.equal(response.statusCode, 409)
  t.match(response.body, 'Change it there.')
  t.match(await control.members.find(memberId), { role: 'admin' })
})

test('whoever removes somebody who comes from a provider is told that this does not keep them out', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { member: bob } = await signedIn(gateway, { role: 'viewer', tenantId, email: 'bob@example.org' })
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'cleo@example.org', role: 'viewer' },
    'test'
  )
  const cleo = await gateway.control.invitations.accept(token, {
    name: 'Cleo',
    password: 'a sentence that only I know'
  })
  const ann = await signedIn(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  const requested = async (memberId: string) => (await ann.get(`/dashboard/members/${memberId}/remove`)).text
  const never = /can’t sign in again/
  t.match(await requested(cleo.memberId), never)
  t.notMatch(await requested(bob.memberId), never)
  t.match(
    await requested(bob.memberId),
    /come back with their next sign-in unless they are removed at the provider too/
  )
  const { paths } = (await gateway.inject({ url: '/control/v1/openapi.json' })).json()
  t.match(paths['/members/{memberId}'].delete.summary, /provider/)
})
