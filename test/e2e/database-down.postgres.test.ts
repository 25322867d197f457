import t from 'tap'
import { setTimeout as pause } from 'node:timers/promises'
import { startGateway } from '../harness/gateway.js'
import { password, startPostgres, user } from '../harness/postgres.js'

const server = await startPostgres(t)

t.test(
  "while the control plane's database is down, keys work as before and everything that needs it responds with Retry-After; then it recovers by itself",
  { timeout: 300_000 },
  async t => {
    const gateway = await startGateway(t, { environment: { CONTROL_DATABASE_URL: await server.createDatabase() } })
    const { tenantId, secret: apiKey } = await gateway.createKey()
    const { secret: token } = await gateway.control.tokens.create({ name: 'program', role: 'operator' }, 'test')
    const fetchPatients = () => gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': apiKey } })
    const fetchKeys = () =>
      gateway.inject({
        url: `/control/v1/organizations/${tenantId}/keys`,
        headers: { authorization: `Bearer ${token}` }
      })
    const fetchKeysStatus = async () => (await gateway.inject('/health')).json().data.checks.keys.status
    t.equal((await fetchPatients()).statusCode, 200)
    t.equal((await fetchKeys()).statusCode, 200)
    t.equal(await fetchKeysStatus(), 'ok')

    await server.stop()
    t.equal((await fetchPatients()).statusCode, 200)
    const refused = await fetchKeys()
    t.match(refused, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
    t.match(refused.json(), { code: 'BACKEND_UNAVAILABLE', message: /[Tt]ry again/ })
    const page = await gateway.inject({ url: '/dashboard/sign-in', headers: { accept: 'text/html' } })
    t.equal(page.statusCode, 200, 'the page that asks for no data is there')
    while ((await fetchKeysStatus()) === 'ok') await pause(100)
    const log = JSON.stringify(gateway.logged())
    t.match(log, /PostgreSQL cannot be reached\. Check that it is running/)
    for (const hidden of [user, password, encodeURIComponent(password)]) {
      t.notOk([log, refused.payload, page.payload].some(text => text.includes(hidden)))
    }

    await server.start()
    while ((await fetchKeysStatus()) !== 'ok') await pause(100)
    t.equal((await fetchKeys()).statusCode, 200)
    const made = await gateway.control.keys.create({ tenantId, mode: 'test', name: 'new' }, 'test')
    while ((await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': made.secret } })).statusCode !== 200) {
      await pause(100)
    }
    t.equal((await fetchPatients()).statusCode, 200)
  }
)
