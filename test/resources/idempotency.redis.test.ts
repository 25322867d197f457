import { randomUUID } from 'node:crypto'
import t from 'tap'
import { startWatched } from '../harness/recording-backend.js'
import { redisPassword, startRedis } from '../harness/redis.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { startControlPlane, startService } from '../sync/control-plane.js'
import { testIdempotency } from './idempotency-contract.js'

const sandbox = await startTestSandbox(t)
const redis = await startRedis(t)
const appended = [{ op: 'add', path: '/identifiers/-', value: { system: 'http://ward', value: '1' } }]

await t.test('at one gateway that stores requests in Redis', t =>
  testIdempotency(t, sandbox.url, { environment: { REDIS_URL: redis.url } }))

await t.test('at two gateways that share Redis', async t => {
  const backend = await startWatched(sandbox.url)
  t.after(() => backend.close())
  const control = await startControlPlane(t)
  const variables = {
    CLINIGATE_ROLE: 'gateway',
    CONTROL_URL: control.url,
    CLINIGATE_GATEWAY_TOKEN: control.token,
    FHIR_TEST_URL: backend.url,
    REDIS_URL: redis.url
  }
  const [first, other] = [await startService(t, variables), await startService(t, variables)]
  const { secret } = await control.createKey()
  type Gateway = typeof first
  const send = async ({ app }: Gateway, method: 'GET' | 'POST' | 'PATCH', path: string, { key, payload }: {
    readonly key?: string, readonly payload?: object
  } = {}) => {
    const headers = { 'x-api-key': secret, ...key !== undefined && { 'idempotency-key': key } }
    const response = await app.inject({ method, url: `/v1/${path}`, headers, payload })
    const { data, message } = response.json()
    return {
      status: response.statusCode,
      isReplayed: response.headers['idempotent-replayed'] === 'true',
      data,
      message,
      retryAfter: response.headers['retry-after']
    }
  }
  for (const gateway of [first, other]) {
    await waitUntil(async () => (await send(gateway, 'GET', 'patients')).status === 200)
    await waitUntil(async () => (await gateway.app.inject('/health')).json().data.checks.sharedCounts.status === 'ok')
  }
  const createPatient = async (): Promise<string> => {
    const payload = { firstName: 'Ada', lastName: 'Byron', identifiers: [{ value: '0' }] }
    return (await send(first, 'POST', 'patients', { payload })).data.id
  }

  await t.test('a change that is repeated at the other gateway is made once', async t => {
    const [id, key] = [await createPatient(), randomUUID()]
    const made = await send(first, 'PATCH', `patients/${id}`, { key, payload: appended })
    const again = await send(other, 'PATCH', `patients/${id}`, { key, payload: appended })
    t.strictSame([made.status, made.isReplayed, again.status, again.isReplayed], [200, false, 200, true])
    t.strictSame(again.data, made.data)
    t.equal((await send(other, 'GET', `patients/${id}`)).data.identifiers.length, 2)
  })

  await t.test('a change whose response was lost is not made again at the other gateway', async t => {
    const [id, key] = [await createPatient(), randomUUID()]
    const held = backend.hold('answer', 'PUT')
    const lost = send(first, 'PATCH', `patients/${id}`, { key, payload: appended });
    (await held).drop()
    t.equal((await lost).status, 502)
    const again = await send(other, 'PATCH', `patients/${id}`, { key, payload: appended })
    t.strictSame([again.status, again.isReplayed, again.data.identifiers.length], [200, true, 2])
  })

  await t.test('while one gateway performs a change, the other one responds 409 with Retry-After', async t => {
    const [id, key] = [await createPatient(), randomUUID()]
    const held = backend.hold('request', 'PUT')
    const performed = send(first, 'PATCH', `patients/${id}`, { key, payload: appended })
    const heldRequest = await held
    const refused = await send(other, 'PATCH', `patients/${id}`, { key, payload: appended })
    t.match(refused, { status: 409, retryAfter: '1', message: /still being processed/ })
    await heldRequest.pass()
    t.equal((await performed).status, 200)
    t.match(await send(other, 'PATCH', `patients/${id}`, { key, payload: appended }), { status: 200, isReplayed: true })
  })

  await t.test('a key that was used for another create is rejected at the other gateway', async t => {
    const [key, payload] = [randomUUID(), { firstName: 'Ada', lastName: 'Lovelace' }]
    t.equal((await send(first, 'POST', 'patients', { key, payload })).status, 201)
    t.equal((await send(other, 'POST', 'patients', { key, payload: { ...payload, lastName: 'Byron' } })).status, 422)
    t.match(await send(other, 'POST', 'patients', { key, payload }), { status: 201, isReplayed: true })
  })

  await t.test('without Redis a request with a key is rejected before anything is done; others are served', async t => {
    const id = await createPatient()
    await redis.stop()
    const calls = backend.seen.length
    const refused = await send(first, 'PATCH', `patients/${id}`, { key: randomUUID(), payload: appended })
    t.match(refused, { status: 503, retryAfter: '5', message: /^Nothing was done/ })
    t.equal(backend.seen.length, calls)
    t.equal((await send(first, 'PATCH', `patients/${id}`, { payload: appended })).status, 200)
    await redis.start()
    await waitUntil(async () =>
      (await send(other, 'PATCH', `patients/${id}`, { key: randomUUID(), payload: appended })).status === 200)
    t.notMatch([...first.lines, ...other.lines].join(''), redisPassword)
  })
})
t.end()
