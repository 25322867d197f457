import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Failure } from '../../src/envelope/failures.js'
import { startGateway } from '../harness/gateway.js'
import { runCommand } from './command.js'

t.test('commands work on a remote control plane as on a local one, as far as their token permits', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'ci' }, 'test')
  const runRemote = async (...args: string[]) => {
    const { code, out, err } = await runCommand({ CONTROL_TOKEN: secret }, ...args, '--control-url', gateway.url)
    t.equal(code, 0, err)
    return JSON.parse(out)
  }
  const { tenantId } = await runRemote('orgs', 'create', '--name', 'Clinic', '--plan', 'pro')
  t.match(await runRemote('orgs', 'update', tenantId, '--overage', 'off'), { tenantId, overage: false })
  t.match(await runRemote('orgs', 'list'), [{ tenantId, name: 'Clinic', overage: false }])
  const made = await runRemote('keys', 'create', '--tenant', tenantId, '--mode', 'test', '--expires', '2099-01-01')
  await gateway.catchUp()
  t.equal(
    (await fetch(`${gateway.url}/v1/patients`, { headers: { 'x-api-key': made.secret } })).status,
    200,
    'the key works'
  )
  const rolled = await runRemote('keys', 'roll', made.keyId, '--overlap', '30m')
  t.match(rolled, { keyId: /^key-/, secret: /^svc_test_/, previous: { keyId: made.keyId } })
  t.match(await runRemote('keys', 'expire', rolled.keyId, '--at', '2098-01-01'), { expiresAt: '2098-01-01T00:00:00.000Z' })
  t.match(await runRemote('keys', 'revoke', rolled.keyId), { revokedAt: String })
  t.match(await runRemote('keys', 'list', '--tenant', tenantId), { length: 2 })
  const admin = await runRemote('tokens', 'create', '--role', 'admin', '--tenant', tenantId, '--name', 'of the clinic')
  t.match(await runRemote('tokens', 'list', '--tenant', tenantId), [{ tokenId: admin.tokenId, role: 'admin' }])
  t.ok(Array.isArray(await runRemote('gateways')))

  const asAdmin = await runCommand(
    { CONTROL_TOKEN: admin.secret, CONTROL_URL: gateway.url },
    'orgs',
    'create',
    '--name',
    'x',
    '--plan',
    'pro'
  )
  t.match(asAdmin, { code: 1, out: '', err: /Only operators/ })
  t.match(await runRemote('tokens', 'revoke', admin.tokenId), { revokedAt: String })
  t.match(await runCommand({ CONTROL_TOKEN: admin.secret, CONTROL_URL: gateway.url }, 'orgs', 'list'), {
    code: 1,
    err: /Authorization: Bearer/
  })
})

t.test("an address that can't be used is reported without the token", async t => {
  const CONTROL_TOKEN = 'cg_control_x'
  const cases: Array<[string, RegExp, Record<string, string>?]> = [
    ['http://127.0.0.1:1', /does not respond/],
    ['http://control.example.org', /Use https/],
    ['ftp://127.0.0.1', /the form https/],
    ['http://user:password@127.0.0.1', /the form https/],
    ['http://127.0.0.1:1', /CONTROL_TOKEN/, {}]
  ]
  for (const [url, message, environment = { CONTROL_TOKEN }] of cases) {
    const ended = await runCommand(environment, 'orgs', 'list', '--control-url', url)
    t.match(ended, { code: 1, out: '', err: message })
    t.notMatch(ended.err, CONTROL_TOKEN)
  }
})

/** A server that rejects everything with the body of a gateway. */
async function startRejectingServer (t: Test, failure: Failure): Promise<string> {
  const { status, code, message, headers } = failure
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ data: null, code, message, issues: [], meta: { requestId: 'r1' } }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a command reports when to retry, or to retry later where the time is unknown', async t => {
  for (const [retryAfterSeconds, message] of [
    [20, 'Try again in 20 seconds.'],
    [1, 'Try again in 1 second.'],
    [undefined, 'Try again later.']
  ] as const) {
    const url = await startRejectingServer(t, new Failure('BACKEND_UNAVAILABLE', { retryAfterSeconds }))
    t.match(await runCommand({ CONTROL_TOKEN: 'x' }, 'orgs', 'list', '--control-url', url), {
      code: 1,
      out: '',
      err: `clinigate: ${message}\n`
    })
  }
  const url = await startRejectingServer(t, new Failure('BACKEND_UNAVAILABLE', { message: 'It is full.', retryAfterSeconds: 20 }))
  t.match(await runCommand({ CLINIGATE_API_KEY: 'x' }, 'bulk', 'jobs', '--url', url), {
    code: 2,
    out: '',
    err: 'error: It is full. Try again in 20 seconds.'
  })
})

t.test('a command whose token is rejected names the variable that holds it', async t => {
  const url = await startRejectingServer(
    t,
    new Failure('UNAUTHORIZED', {
      message: 'Send a valid management token in the header Authorization: Bearer <token>.'
    })
  )
  t.match(await runCommand({ CONTROL_TOKEN: 'x' }, 'orgs', 'list', '--control-url', url), {
    code: 1,
    err: /variable CONTROL_TOKEN/
  })
})

// The message was "Check the path and the id."
t.test('a command that is sent to a gateway without a control plane reports that the URL is wrong', async t => {
  const url = await startRejectingServer(t, new Failure('NOT_FOUND'))
  t.match(await runCommand({ CONTROL_TOKEN: 'cg_control_x' }, 'orgs', 'list', '--control-url', url), {
    code: 1, err: /is not a control plane \(status 404\); check CONTROL_URL/
  })
})
