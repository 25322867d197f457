import t from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { password, startPostgres } from '../harness/postgres.js'
import { waitUntil } from '../harness/until.js'
import {
  forEachConcurrently, fetchKeyHealth, calculatePercentiles, startGateway, startProcess, fetchStatus
} from './processes.js'

// Building the program and starting half a dozen processes takes its time.
t.setTimeout(600_000)

t.test(
  'two control processes on one PostgreSQL, a gateway at each: a change at one takes effect at both within a second, through a restart of the database',
  { timeout: 500_000 },
  async t => {
    const server = await startPostgres(t)
    const url = await server.createDatabase()
    const store = await openControlStore({ file: '', url, plans: ['pro', 'enterprise'], now: () => new Date() })
    t.after(() => store.close())
    const { secret: token } = await store.tokens.create({ name: 'gateways', role: 'gateway' }, 'test')
    const { secret: program } = await store.tokens.create({ name: 'program', role: 'operator' }, 'test')
    const { tenantId } = await store.organizations.create({ name: 'clinic', plan: 'enterprise' }, 'test')
    const controls = await Promise.all(
      [1, 2].map(() => startProcess(t, { CLINIGATE_ROLE: 'control', CONTROL_DATABASE_URL: url }))
    )
    const gateways = await Promise.all(
      controls.map((control, at) =>
        startGateway(t, { url: control.url, token }, { CLINIGATE_GATEWAY_NAME: `gateway-${at}` })
      )
    )

    const sendRequest = async (at: number, method: string, path: string, body?: object) => {
      const headers = {
        authorization: `Bearer ${program}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' })
      }
      const response = await fetch(`${controls[at % 2]!.url}/control/v1/${path}`, {
        method,
        headers,
        body: JSON.stringify(body)
      })
      const { data } = (await response.json()) as { data: { keyId: string; secret: string } }
      if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}`)
      return data
    }
    const revoke = async (keyId: string, at: number) => {
      await sendRequest(at, 'POST', `keys/${keyId}/revoke`)
    }
    const waitForStatus = async (secret: string, status: number) => {
      await Promise.all(gateways.map(gateway => waitUntil(async () => (await fetchStatus(gateway, secret)) === status)))
    }

    const keys: Array<{ keyId: string; secret: string }> = []
    for (let i = 0; i < 100; i++) {
      keys.push(
        await sendRequest(i, 'POST', `organizations/${tenantId}/keys`, { mode: 'test', name: `${i}`, scopes: ['read'] })
      )
    }
    await forEachConcurrently(keys, 4, ({ secret }) => waitForStatus(secret, 200))
    const times: number[] = []
    for (const [at, { keyId, secret }] of keys.entries()) {
      const clicked = performance.now()
      await revoke(keyId, at)
      await waitForStatus(secret, 401)
      times.push(performance.now() - clicked)
    }
    const { median, p99 } = calculatePercentiles(times)
    t.comment(
      `100 revocations at two control processes, from the request to the refusal on both gateways: median ${median.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`
    )
    t.ok(median < 5_000, 'the bound is a second on a machine that does nothing else')

    const [active, later] = [
      await sendRequest(0, 'POST', `organizations/${tenantId}/keys`, { mode: 'test', name: 'kept' }),
      await sendRequest(1, 'POST', `organizations/${tenantId}/keys`, { mode: 'test', name: 'later' })
    ]
    await Promise.all([active, later].map(({ secret }) => waitForStatus(secret, 200)))
    await server.stop()
    for (const gateway of gateways) await waitUntil(async () => !(await fetchKeyHealth(gateway)).isConnected)
    await waitForStatus(active.secret, 200)
    await server.start()
    await revoke(later.keyId, 0)
    await waitForStatus(later.secret, 401)
    await waitForStatus(active.secret, 200)
    for (const gateway of gateways) await waitUntil(async () => (await fetchKeyHealth(gateway)).isConnected)
    for (const { output, child } of [...controls, ...gateways]) {
      t.equal(child.exitCode, null)
      t.notOk([password, encodeURIComponent(password)].some(hidden => (output.out + output.err).includes(hidden)))
    }
  }
)
