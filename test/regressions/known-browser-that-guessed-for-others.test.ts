import { test } from 'tap'
import { visitor } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

const email = 'boss@service.example'
const own = 'what the guesser chose'
const secret = 'what only the boss knows'

/** Somebody with this address and password, in an organization or as an operator. */
async function join ({ control }: TestGateway, password: string, tenantId?: string): Promise<string> {
  const { token } = await control.invitations.create(
    { email, role: tenantId === undefined ? 'operator' : 'admin', tenantId },
    'test'
  )
  return (await control.invitations.accept(token, { name: 'Boss', password })).memberId
}

/** A browser that shows passwords for the address. */
async function browserOf (gateway: TestGateway) {
  const browser = visitor(gateway)
  const _csrf = await browser.token('/dashboard/sign-in')
  const fields = (password: string) => ({ _csrf, email, password })
  const show = async (password: string, times = 1): Promise<number[]> => {
    browser.cookies.delete('clinigate-session')
    const answers = await Promise.all(
      Array.from({ length: times }, async () => await browser.send('/dashboard/sign-in', fields(password)))
    )
    return answers.map(({ status }) => status)
  }
  return { ...browser, show }
}

test('whoever joined under the address of somebody else has no more guesses at their password for each own sign-in', async t => {
  const gateway = await startGateway(t)
  const operator = await join(gateway, secret)
  await join(gateway, own, await gateway.createOrganization())
  const guesser = await browserOf(gateway)
  t.same(await guesser.show(own), [303])
  await guesser.show('a guess', 9)
  t.same(await guesser.show(own), [303], 'the own password goes on, and makes the browser known anew')
  t.same(await guesser.show(secret), [422], 'the password of the operator is not looked at any more')
  t.same(
    await gateway.control.auditTrail({ entity: operator, limit: 10 }).then(found => found.map(({ action }) => action)),
    ['member added']
  )
})

test('a known browser has no new attempts by writing something behind its mark', async t => {
  const gateway = await startGateway(t)
  await join(gateway, own)
  const browser = await browserOf(gateway)
  t.same(await browser.show(own), [303])
  const mark = browser.cookies.get('clinigate-device')!
  await browser.show('a guess', 20)
  t.same(await browser.show('a guess'), [429])
  browser.cookies.set('clinigate-device', `${mark}.1`)
  t.same(await browser.show('a guess'), [429])
})
