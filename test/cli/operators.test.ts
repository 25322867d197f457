import { test } from 'tap'
import { createVisitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { runCommand } from './command.js'

test('an operator who lost the password signs in with one that a command prints, and must change it', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'ci' }, 'test')
  const first = await gateway.control.members.createFirstOperator('operator@clinigate.local', 'test')
  const runRemote = async (...args: string[]) =>
    await runCommand({ CONTROL_TOKEN: secret, CONTROL_URL: gateway.url }, 'operators', ...args)
  t.match(JSON.parse((await runRemote('list')).out), [{ email: 'operator@clinigate.local', role: 'operator' }])
  t.match(await runRemote('reset-password', '--email', 'nobody@clinigate.local'), {
    code: 1,
    out: '',
    err: /No operator with this address/
  })
  const { code, out } = await runRemote('reset-password', '--email', 'Operator@clinigate.local')
  t.equal(code, 0)
  const { password } = JSON.parse(out) as { password: string }
  const browser = createVisitor(gateway)
  const signIn = async (password: string) =>
    await browser.post('/dashboard/sign-in', { email: 'operator@clinigate.local', password }, '/dashboard/sign-in')
  t.equal((await signIn(first!.password)).status, 422)
  t.match(await signIn(password), { status: 303, headers: { location: '/dashboard/password' } })
})
