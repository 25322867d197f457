import t from 'tap'
import { generateSecret } from '../../src/keys/secret.js'
import { startGateway } from '../harness/gateway.js'

const limits = { failedAttemptsPerMinute: 3 }

t.test(
  'a client that keeps sending requests without a valid key gets 429, and a valid key from the same address is served',
  async t => {
    const { inject, createKey } = await startGateway(t, { config: { limits } })
    const { secret } = await createKey()
    const get = (key: string | undefined, url = '/v1/patients') =>
      inject({ url, headers: key === undefined ? {} : { 'x-api-key': key } })
    const attempts = [undefined, 'nonsense', generateSecret('test'), generateSecret('live'), undefined, `${secret}x`]
    const statuses: number[] = []
    for (const attempt of attempts) {
      statuses.push((await get(attempt)).statusCode)
      t.equal((await get(secret)).statusCode, 200, 'the good key')
    }
    t.strictSame(statuses, [401, 401, 401, 429, 429, 429])
    const refused = await get(undefined)
    t.match(refused.json(), { code: 'RATE_LIMITED', message: /valid key/ })
    t.match(refused.headers['retry-after'], /^([1-9]|[1-5]\d|60)$/)
    t.match(
      (await get(undefined, '/v1/fhir/Patient')).json(),
      { resourceType: 'OperationOutcome' },
      "in FHIR's words where those are spoken"
    )
    t.equal((await get(undefined, '/health')).statusCode, 200)
  }
)

t.test('attempts are counted by address, IPv6 by its network', async t => {
  const { inject } = await startGateway(t, { config: { limits } })
  const getStatusFrom = async (remoteAddress: string) => (await inject({ url: '/v1/patients', remoteAddress })).statusCode
  for (let i = 0; i < 3; i++) await getStatusFrom(`2001:db8::${i}`)
  t.equal(await getStatusFrom('2001:db8::99'), 429)
  t.equal(await getStatusFrom('2001:db8:0:1::1'), 401)
  t.equal(await getStatusFrom('192.0.2.1'), 401)
})

t.test('the address in X-Forwarded-For is trusted from a trusted proxy alone', async t => {
  const collectStatuses = async (settings: object, proxy: string) => {
    const { inject } = await startGateway(t, { config: { limits, ...settings } })
    const found: number[] = []
    for (let i = 0; i < 5; i++) {
      found.push(
        (await inject({ url: '/v1/patients', remoteAddress: proxy, headers: { 'x-forwarded-for': `192.0.2.${i}` } }))
          .statusCode
      )
    }
    return found
  }
  t.strictSame(await collectStatuses({}, '10.0.0.7'), [401, 401, 401, 429, 429], 'nobody is trusted by default')
  t.strictSame(await collectStatuses({ trustedProxies: '10.0.0.0/8, ::1' }, '10.0.0.7'), [401, 401, 401, 401, 401])
  t.strictSame(await collectStatuses({ trustedProxies: '10.0.0.0/8, ::1' }, '203.0.113.9'), [401, 401, 401, 429, 429])
})

t.test('a setting that is no address or network is a mistake of the configuration', async t => {
  for (const trustedProxies of ['', 'proxy.example.org', '10.0.0.0/33', '10.0.0.1,', 'true', '1']) {
    await t.rejects(
      startGateway(t, { config: { trustedProxies } }),
      { message: /trustedProxies: must be comma-separated IP addresses or networks/ },
      trustedProxies
    )
  }
})
