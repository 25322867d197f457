import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { startBalancer } from '../harness/balancer.js'
import { startPostgres } from '../harness/postgres.js'
import { startRedis } from '../harness/redis.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { createTemporaryDirectory } from '../sync/control-plane.js'
import { forEachConcurrently, startGateway, startProcess, fetchStatus } from '../sync/processes.js'

t.setTimeout(300_000)

const limit = 100

/** One control plane on PostgreSQL, and two gateways that count on Redis, behind a load balancer. */
async function startFleet (t: Test) {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)])
  const database = await postgres.createDatabase()
  const folder = createTemporaryDirectory(t)
  const [plansFile, configFile] = [join(folder, 'plans.json'), join(folder, 'config.json')]
  // The load of the test machine is not tested here.
  writeFileSync(configFile, JSON.stringify({ overload: { eventLoopDelayMs: null } }))
  const month = { requestsPerMonth: null, overage: true }
  writeFileSync(
    plansFile,
    JSON.stringify({ pro: { requestsPerMinute: limit, ...month }, enterprise: { requestsPerMinute: null, ...month } })
  )
  const control = await startProcess(t, {
    CLINIGATE_ROLE: 'control',
    CONTROL_DATABASE_URL: database,
    CLINIGATE_PLANS: plansFile
  })
  const store = await openControlStore({ file: '', url: database, plans: ['pro', 'enterprise'], now: () => new Date() })
  t.after(() => store.close())
  const { secret: token } = await store.tokens.create({ name: 'gateways', role: 'gateway' }, 'test')
  const sandbox = await startTestSandbox(t)
  const environment = {
    FHIR_TEST_URL: sandbox.url,
    FHIR_LIVE_URL: sandbox.url,
    REDIS_URL: redis.url,
    CLINIGATE_PLANS: plansFile,
    CLINIGATE_CONFIG: configFile,
    DRAIN_SECONDS: '3'
  }
  const gateways = await Promise.all(
    ['one', 'two'].map(name =>
      startGateway(t, { url: control.url, token }, { ...environment, CLINIGATE_GATEWAY_NAME: name })
    )
  )
  const balancer = await startBalancer(t, gateways.map(({ url }) => url))
  const createKey = async (plan: 'pro' | 'enterprise') => {
    const { tenantId } = await store.organizations.create({ name: 'clinic', plan }, 'test')
    return await store.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
  }
  await waitUntil(() => balancer.ready().length === 2)
  return { gateways, balancer, store, createKey }
}

t.test('two gateways, a control plane on PostgreSQL and Redis are one service', async t => {
  const { gateways, balancer, store, createKey } = await startFleet(t)
  const fetchStatuses = (secret: string) => Promise.all(gateways.map(gateway => fetchStatus(gateway, secret)))

  await t.test('a key is valid at every gateway once it was created, and at none once it was revoked', async t => {
    const { keyId, secret } = await createKey('enterprise')
    await waitUntil(async () => (await fetchStatuses(secret)).every(status => status === 200))
    await store.keys.revoke(keyId, 'test')
    await waitUntil(async () => (await fetchStatuses(secret)).every(status => status === 401))
    t.pass('at both, without a restart')
  })

  await t.test('the limit of a minute applies to all of them together', async t => {
    const countLosses = () => gateways.reduce((sum, { output }) => sum + output.err.split('each gateway counts alone').length, 0)
    const countAdmitted = async () => {
      const { secret } = await createKey('pro')
      let admitted = 0
      await waitUntil(async () => {
        const statuses = await fetchStatuses(secret)
        admitted += statuses.filter(status => status === 200).length
        return statuses.every(status => status === 200)
      })
      await forEachConcurrently(Array.from({ length: 2 * limit }, (_, i) => i + 1), 10, async () => {
        const status = await fetchStatus(balancer, secret)
        if (status === 200) admitted++
        else if (status !== 429) t.fail(`answered with ${status}`)
      })
      return admitted
    }
    for (;;) {
      const [lossesBefore, startedAt] = [countLosses(), performance.now()]
      const admitted = await countAdmitted()
      // On a machine that stood still, the minute was over, or a gateway waited for Redis and counted for itself, as it
      // reports.
      if (countLosses() > lossesBefore || performance.now() - startedAt > 50_000) continue
      t.ok(Math.abs(admitted - limit) <= limit / 100, `${admitted} of ${limit}`)
      break
    }
  })

  await t.test(
    'while one gateway after the other restarts no request fails, and every written record exists',
    async t => {
      const { secret } = await createKey('enterprise')
      await waitUntil(async () => (await fetchStatuses(secret)).every(status => status === 200))
      const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
      const stopping = new AbortController()
      const failures: unknown[] = []
      let reads = 0
      const written: string[] = []
      const load = async () => {
        while (!stopping.signal.aborted) {
          try {
            const made = await fetch(`${balancer.url}/v1/patients`, {
              method: 'POST',
              headers,
              body: '{"firstName":"A","lastName":"B"}'
            })
            const { data, code } = (await made.json()) as { data: { id: string }; code?: string }
            if (made.status === 201) written.push(data.id)
            else failures.push(`${made.status} ${code}`)
            const read = await fetch(`${balancer.url}/v1/patients?count=1`, { headers })
            const { code: why } = (await read.json()) as { code?: string }
            if (read.status === 200) reads++
            else failures.push(`${read.status} ${why}`)
          } catch (error) {
            failures.push(error)
          }
        }
      }
      const loading = Array.from({ length: 3 }, load)
      const isBusy = async () => {
        const before = reads
        await waitUntil(() => reads > before + 10)
      }
      await isBusy()
      for (const gateway of gateways) {
        t.equal(await gateway.end('SIGTERM'), 0)
        await isBusy()
        await gateway.again()
        await waitUntil(() => balancer.ready().length === 2)
        const before = balancer.sent.get(gateway.url)!
        await waitUntil(() => balancer.sent.get(gateway.url)! > before + 5)
      }
      stopping.abort()
      await Promise.all(loading)
      t.strictSame(failures, [])
      t.comment(`${reads} reads and ${written.length} writes`)
      const found = await Promise.all(
        written.map(id =>
          fetch(`${balancer.url}/v1/patients/${id}`, { headers }).then(async response => {
            await response.text()
            return response.status
          })
        )
      )
      t.strictSame(
        found.filter(status => status !== 200),
        []
      )
    }
  )
})
