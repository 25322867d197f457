import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { waitUntil } from '../harness/until.js'
import { startStandIn, startControlPlane, startService, createTemporaryDirectory } from './control-plane.js'

type Started = Awaited<ReturnType<typeof startService>>

const minute = 60_000

function writeConfig (directory: string, content: object): string {
  const file = join(directory, 'config.json')
  writeFileSync(file, JSON.stringify(content))
  return file
}

/** A gateway in this process whose clock is wrong by some minutes. */
function startLocalGateway (
  t: Test,
  { url, token }: { readonly url: string; readonly token: string },
  environment: Record<string, string> = {},
  now?: () => Date
) {
  return startService(
    t,
    { CLINIGATE_ROLE: 'gateway', CONTROL_URL: url, CLINIGATE_GATEWAY_TOKEN: token, ...environment },
    now
  )
}

async function requestPatients (
  { app }: Pick<Started, 'app'>,
  secret: string
): Promise<readonly [number, string | undefined]> {
  const response = await app.inject({ url: '/v1/patients?count=1', headers: { 'x-api-key': secret } })
  return [response.statusCode, response.json().code]
}

for (const wrongBy of [-7, 7]) {
  t.test(
    `a gateway whose clock is ${Math.abs(wrongBy)} minutes ${wrongBy < 0 ? 'late' : 'early'} revokes at once, and goes by its own clock for expiry and age`,
    async t => {
      const control = await startControlPlane(t)
      const gateway = await startLocalGateway(t, control, {}, () => new Date(Date.now() + wrongBy * minute))
      const inFive = await control.createKey({ expiresAt: new Date(Date.now() + 5 * minute) })
      const inTen = await control.createKey({ expiresAt: new Date(Date.now() + 10 * minute) })
      await waitUntil(async () => (await requestPatients(gateway, inTen.secret))[0] === 200)
      t.same(
        await requestPatients(gateway, inFive.secret),
        wrongBy > 0 ? [401, 'KEY_EXPIRED'] : [200, undefined],
        "expiry is a moment of the gateway's clock"
      )
      await control.control.keys.revoke(inTen.keyId, 'test')
      await waitUntil(async () => (await requestPatients(gateway, inTen.secret))[1] === 'KEY_REVOKED')
      const { ageSeconds } = (await gateway.app.inject('/health')).json().data.checks.keys
      t.ok(ageSeconds >= 0 && ageSeconds < 30, "the age of the copy is a difference of the gateway's own times")
      await waitUntil(async () => (await control.control.gateways.list())[0]?.changesBehind === 0)
      const [seen] = await control.control.gateways.list()
      t.match(seen, { isConnected: true }, "and of the control plane's own times there")
    }
  )
}

t.test(
  'a copy of the keys that is older than allowed rejects every key, and serves again when the feed is back',
  async t => {
    const control = await startControlPlane(t)
    const { secret } = await control.createKey()
    let isCut = false
    let ahead = 0
    // A proxy between the two: it passes the feed on, or cuts the connection.
    const between = await startStandIn(t, async ({ url = '', headers }, response) => {
      if (isCut) return response.destroy()
      const gone = new AbortController()
      response.once('close', () => gone.abort())
      const received = await fetch(control.url + url, {
        headers: { authorization: headers.authorization! },
        signal: gone.signal
      }).catch(() => undefined)
      response.writeHead(received?.status ?? 502, { 'content-type': 'text/event-stream' })
      try {
        for await (const chunk of received!.body!) response.write(chunk)
      } catch {
        response.destroy()
      }
    })
    const gateway = await startLocalGateway(
      t,
      { url: between, token: control.token },
      { CLINIGATE_CONFIG: writeConfig(createTemporaryDirectory(t), { keys: { maxStalenessMinutes: 5 } }) },
      () => new Date(Date.now() + ahead)
    )
    await waitUntil(async () => (await requestPatients(gateway, secret))[0] === 200)

    isCut = true
    control.app.server.closeAllConnections()
    await waitUntil(async () => (await gateway.app.inject('/health')).json().data.checks.keys.status === 'degraded')
    ahead = 4 * minute
    t.same(await requestPatients(gateway, secret), [200, undefined], 'cut off, but not for too long')
    ahead = 6 * minute
    t.same(await requestPatients(gateway, secret), [503, 'BACKEND_UNAVAILABLE'])
    t.same(await requestPatients(gateway, 'svc_test_x'), [401, 'INVALID_KEY_FORMAT'])
    isCut = false
    await waitUntil(async () => (await requestPatients(gateway, secret))[0] === 200)
  }
)

t.test('a control process serves neither /v1 nor its documents, whatever the request', async t => {
  const { app, createKey } = await startControlPlane(t)
  const { secret } = await createKey()
  for (const url of [
    '/v1',
    '/v1/',
    '/v1/patients',
    '/v1/metadata',
    '/v1/fhir/metadata',
    '/v1/fhir/Patient',
    '/docs',
    '/openapi.json',
    '/anything'
  ]) {
    for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
      t.match(
        (await app.inject({ method, url, headers: { 'x-api-key': secret } })).json(),
        { code: 'NOT_FOUND', meta: { status: 404 } },
        `${method} ${url}`
      )
    }
  }
  t.match((await app.inject({ method: 'POST', url: '/health' })).json(), { code: 'METHOD_NOT_ALLOWED' })
  t.match((await app.inject({ url: '/health', headers: { 'x-http-method-override': 'DELETE' } })).json(), {
    code: 'METHOD_OVERRIDE_REJECTED'
  })
  t.match((await app.inject('/health')).json().data, { status: 'ok', checks: { controlDatabase: { status: 'ok' } } })
})

t.test("a gateway in the control plane's own process reports like those elsewhere", async t => {
  const { control } = await startService(t, { CLINIGATE_ROLE: 'all', CLINIGATE_GATEWAY_NAME: 'here' })
  await waitUntil(async () =>
    (await control!.gateways.list()).some(({ checks }) => checks.keys === 'ok' && checks.testDatastore === 'ok')
  )
  t.match(await control!.gateways.list(), [
    { name: 'here', isConnected: true, version: '0.0.0-test', checks: { testDatastore: 'ok' } }
  ])
})

t.test('a gateway is the same one after a restart, and another one with another data directory', async t => {
  const control = await startControlPlane(t)
  const data = createTemporaryDirectory(t)
  for (const directory of [data, data, createTemporaryDirectory(t)]) {
    const gateway = await startLocalGateway(t, control, { CLINIGATE_DATA: directory })
    const id = readFileSync(join(directory, 'gateway.id'), 'utf8').trim()
    await waitUntil(async () => (await control.control.gateways.list()).some(({ gatewayId }) => gatewayId === id))
    await gateway.close()
  }
  t.equal((await control.control.gateways.list()).length, 2)
})

t.test('the counts of a gateway arrive at a remote control plane', async t => {
  const control = await startControlPlane(t)
  const gateway = await startLocalGateway(t, control)
  const { secret } = await control.createKey()
  await waitUntil(async () => (await requestPatients(gateway, secret))[0] === 200)
  const readKey = async () => (await control.control.keys.list(control.tenantId))[0] as { readonly lastUsedAt?: string }
  await waitUntil(async () => (await readKey()).lastUsedAt !== undefined)
  t.pass('and the key was last used then')
})
