import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'

test('a person can sign in for each of many organizations', { timeout: 600_000 }, async t => {
  const { control, createOrganization } = await startGateway(t)
  const email = 'locum@example.org'
  const joined: string[] = []
  for (let at = 0; at < 11; at++) {
    const { token } = await control.invitations.create(
      { email, role: 'viewer', tenantId: await createOrganization() },
      'test'
    )
    joined.push(
      (await control.invitations.accept(token, { name: 'Ann', password: `the sentence for number ${at}` })).memberId
    )
  }
  t.match(await control.members.whoHas(email, 'the sentence for number 0'), [{ memberId: joined[0] }])
  t.match(await control.members.whoHas(email, 'the sentence for number 10'), [{ memberId: joined[10] }])
})
