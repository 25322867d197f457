import { test } from 'tap'
import { visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

const email = 'ann@example.org'
const password = 'a sentence that only I know'

test('a choice between organizations opens none whose password was changed since, and no member who was removed', async t => {
  const gateway = await startGateway(t)
  const { control } = gateway
  const join = async (): Promise<string> => {
    const { token } = await control.invitations.create(
      { email, role: 'admin', tenantId: await gateway.createOrganization() },
      'test'
    )
    return (await control.invitations.accept(token, { name: 'Ann', password })).memberId
  }
  const [changed, reset, removed, kept] = [await join(), await join(), await join(), await join()]
  const page = '/dashboard/choose-organization'
  const choosing = async () => {
    const thief = visitor(gateway)
    t.match((await thief.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')).headers.location, page)
    return { thief, _csrf: await thief.token(page) }
  }
  const thieves = [await choosing(), await choosing(), await choosing()] as const
  await control.members.changePassword(changed, { current: password, requested: 'another sentence of mine' })
  await control.members.resetPassword(reset, 'test')
  await control.members.remove(removed, 'test')
  for (const [at, member] of [changed, reset, removed].entries()) {
    const { thief, _csrf } = thieves[at]!
    t.notOk((await thief.get(page)).html.includes(member), 'nor is it offered')
    t.equal((await thief.send(page, { _csrf, member })).headers.location, '/dashboard/sign-in')
    t.equal((await thief.get('/dashboard/account')).status, 303)
    t.match(
      await thief.send(page, { _csrf, member: kept }),
      { headers: { location: '/dashboard' } },
      'the one with the same password is still to be had'
    )
  }
})
