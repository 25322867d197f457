import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { findFreePort } from '../harness/free-port.js'
import { startPostgres } from '../harness/postgres.js'
import { startRedis } from '../harness/redis.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { startProcess, type Running } from '../sync/processes.js'
import { docker, toLocalEnvironment, readCompose, createTemporaryFolder } from './compose.js'

t.setTimeout(300_000)

/**
 * The processes of the compose file on this machine, with real servers and the proxy in front; no container engine is
 * needed.
 */
async function startScaledOut (t: Test) {
  const { services } = readCompose('compose.scale.yaml')
  const secrets = join(createTemporaryFolder(t), 'secrets')
  const [database, redis, sandbox] = await Promise.all([
    startPostgres(t).then(server => server.createDatabase()),
    startRedis(t),
    startTestSandbox(t)
  ])
  for (const [name, text] of Object.entries({
    'control-database-url': database,
    'redis-url': redis.url,
    cursor: Buffer.alloc(32, 1).toString('base64')
  })) { writeFileSync(join(secrets, name), text) }
  const [controlPort, ...ports] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const replacements = {
    '/run/secrets': secrets,
    'http://control:8080': `http://127.0.0.1:${controlPort}`,
    'http://hapi-test:8080/fhir': sandbox.url,
    'http://hapi-live:8080/fhir': sandbox.url,
    '172.31.240.0/24': '127.0.0.1/32'
  }
  const control = await startProcess(t, {
    ...toLocalEnvironment(t, services.control!, replacements),
    PORT: String(controlPort)
  })
  const store = await openControlStore({ file: '', url: database, plans: ['pro'], now: () => new Date() })
  t.after(() => store.close())
  writeFileSync(
    join(secrets, 'gateway-token'),
    (await store.tokens.create({ name: 'gateways', role: 'gateway' }, 'test')).secret
  )
  const gateways = await Promise.all(
    ports.map((port, i) =>
      startProcess(t, { ...toLocalEnvironment(t, services[`gateway-${i + 1}`]!, replacements), PORT: String(port) })
    )
  )
  const { tenantId } = await store.organizations.create({ name: 'clinic', plan: 'pro' }, 'test')
  const { secret } = await store.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
  return { url: await startProxy(t, { control, gateways }), gateways, secret }
}

/** The proxy with the configuration of the container, which finds the others by these variables. */
async function startProxy (
  t: Test,
  { control, gateways }: { readonly control: Running; readonly gateways: readonly Running[] }
): Promise<string> {
  const toHost = ({ url }: Running) => new URL(url).host
  const bind = `127.0.0.1:${await findFreePort()}`
  const named = Object.fromEntries(gateways.map((gateway, i) => [`GATEWAY_${i + 1}`, toHost(gateway)]))
  const proxy = spawn('haproxy', ['-W', '-f', join(docker, 'haproxy', 'haproxy.cfg')], {
    env: { PATH: `${process.env.PATH}:/usr/sbin`, BIND: bind, CONTROL: toHost(control), ...named },
    stdio: 'ignore'
  })
  const ended = once(proxy, 'exit')
  t.after(() => {
    proxy.kill('SIGTERM')
    return ended
  })
  return `http://${bind}`
}

t.test(
  'docker/compose.scale.yaml: one address serves both gateways and the dashboard, and works on when a gateway dies',
  async t => {
    const { url, gateways, secret } = await startScaledOut(t)
    const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
    const create = async (lastName: string) =>
      await fetch(`${url}/v1/patients`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ firstName: 'Ada', lastName })
      }).catch(() => undefined)
    await waitUntil(async () => {
      await pause(100)
      return (await create('First'))?.status === 201
    })
    await waitUntil(async () => {
      await pause(100)
      return (await fetch(`${url}/dashboard/sign-in`)).status === 200
    })
    t.equal((await fetch(`${url}/v1/patients`)).status, 401)

    const countCreated = ({ output }: Running): number =>
      output.err.split('"route":"/v1/patients","status":201').length - 1
    // The requests of a key are spread over the gateways.
    await waitUntil(async () => {
      await create('Second')
      return gateways.every(gateway => countCreated(gateway) > 0)
    })
    const [first, other] = gateways as [Running, Running]
    await first.end('SIGKILL')
    const before = countCreated(other)
    await waitUntil(async () => {
      await pause(100)
      return (await create('Second'))?.status === 201
    })
    await waitUntil(() => countCreated(other) > before)
    const found = (await (await fetch(`${url}/v1/patients?lastName=first`, { headers })).json()) as {
      data: { total: number }
    }
    t.equal(found.data.total, 1)
  }
)
