import { test } from 'tap'
import { browserName } from '../../src/control-plane/dashboard/user-agent.js'
import { visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0'
const iPhone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1'

test('a person sees in which browsers the sessions began', async t => {
  const gateway = await startGateway(t)
  const [email, password] = ['ann@example.org', 'a sentence that only I know']
  const { token } = await gateway.control.invitations.create(
    { email, role: 'admin', tenantId: await gateway.createOrganization() },
    'test'
  )
  await gateway.control.invitations.accept(token, { name: 'Ann', password })
  const signIn = async (agent: string) => {
    const browser = visitor(gateway)
    await browser.send(
      '/dashboard/sign-in',
      { _csrf: await browser.token('/dashboard/sign-in'), email, password },
      { 'user-agent': agent }
    )
    return browser
  }
  await signIn(firefox)
  await signIn('<b>none</b>')
  const { text } = await (await signIn(iPhone)).get('/dashboard/account')
  for (const name of ['Firefox on Windows', 'Safari on iPhone', 'unknown']) t.ok(text.includes(name), name)
  t.notOk(text.includes('<b>'))
})

test('browsers are known by their own names, whatever others they name too', async t => {
  const chrome =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'
  t.equal(browserName(chrome), 'Chrome on Linux')
  t.equal(
    browserName(`${chrome.replace('X11; Linux x86_64', 'Macintosh; Intel Mac OS X 10_15_7')} Edg/126.0.0.0`),
    'Edge on macOS'
  )
  t.equal(browserName(chrome.replace('X11; Linux x86_64', 'Linux; Android 10; K')), 'Chrome on Android')
  t.equal(browserName('curl/8.5.0'), undefined)
})
