import { test } from 'tap'
import { createVisitor, type Page, type Visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

const password = 'a sentence that only I know'

const signIn = async (browser: Visitor, fields: { password?: string } = {}): Promise<Page> =>
  await browser.post('/dashboard/sign-in', { email: 'ann@example.org', password, ...fields }, '/dashboard/sign-in')

test('password guesses are limited per account and per address, and do not block a known browser', async t => {
  const gateway = await startGateway(t)
  const { token } = await gateway.control.invitations.create({ email: 'ann@example.org', role: 'operator' }, 'test')
  await gateway.control.invitations.accept(token, { name: 'Ann', password })
  const ann = createVisitor(gateway)
  t.equal((await signIn(ann)).status, 303)
  t.ok(ann.cookies.has('clinigate-device'))
  const guesser = createVisitor(gateway)
  const _csrf = await guesser.fetchToken('/dashboard/sign-in')
  const guess = async (fields: Record<string, string> = {}) =>
    await guesser.send('/dashboard/sign-in', { _csrf, email: 'ann@example.org', password: 'x', ...fields })
  const guesses = await Promise.all(Array.from({ length: 14 }, async () => (await guess()).status))
  t.same(
    guesses.sort(),
    [...Array(9).fill(422), ...Array(5).fill(429)],
    'ten attempts with the one before, though all came at once'
  )
  const stopped = await guess({ password })
  t.match(stopped, { status: 429, text: /Too many attempts.*Wait 15 minutes/ }, 'the right one is not looked at')
  const seconds = Number(stopped.headers['retry-after'])
  t.ok(seconds > 600 && seconds <= 900)
  t.equal((await guess({ email: 'Ann@example.org' })).status, 429, 'however it is written')
  ann.cookies.delete('clinigate-session')
  t.equal((await signIn(ann)).status, 303, 'the known browser goes on')
  for (let i = 0; i < 34; i++) await guess()
  t.equal(
    (await guess({ email: 'somebody.else@example.org' })).status,
    429,
    'fifty from one address are all, whatever the account'
  )
  t.match(
    await guess({ email: `${'x'.repeat(300)}@example.org` }),
    { status: 422, text: /is wrong/ },
    'an address longer than any is no account, and takes no memory'
  )
  ann.cookies.delete('clinigate-session')
  t.equal((await signIn(ann)).status, 303, 'from the same address, the known browser goes on')
  const stolen = createVisitor(gateway)
  stolen.cookies.set('clinigate-device', ann.cookies.get('clinigate-device')!)
  const statuses: number[] = []
  for (let i = 0; i < 12; i++) statuses.push((await signIn(stolen, { password: 'x' })).status)
  t.same(statuses.slice(-2), [429, 429], 'a known browser has as many of its own, and no more')
})

test('a browser is known for all members whom its password opened, and still offers them while others guess', async t => {
  const gateway = await startGateway(t)
  const join = async (): Promise<string> => {
    const { token } = await gateway.control.invitations.create(
      { email: 'ann@example.org', role: 'admin', tenantId: await gateway.createOrganization() },
      'test'
    )
    return (await gateway.control.invitations.accept(token, { name: 'Ann', password })).memberId
  }
  const ann = createVisitor(gateway)
  const listOffered = async () => {
    ann.cookies.delete('clinigate-session')
    await signIn(ann)
    const { html } = await ann.get('/dashboard/choose-organization')
    return [...html.matchAll(/name="member" value="([^"]+)"/g)].map(([, id]) => id!).sort()
  }
  const first = await join()
  t.equal((await signIn(ann)).headers.location, '/dashboard')
  const members = [first, await join()].sort()
  t.same(await listOffered(), members, 'one who joined since is offered in a known browser, too')
  const guesser = createVisitor(gateway)
  const _csrf = await guesser.fetchToken('/dashboard/sign-in')
  await Promise.all(
    Array.from(
      { length: 8 },
      async () => await guesser.send('/dashboard/sign-in', { _csrf, email: 'ann@example.org', password: 'x' })
    )
  )
  t.equal((await signIn(guesser)).status, 429)
  t.same(await listOffered(), members)
})
