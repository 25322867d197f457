import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { probePath } from '../../src/backends/http-backend.js'
import { sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { createGatewayClient, unlimitedPlans, type Client } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

t.test(
  'a datastore that is down is refused for every API at once, does not affect other datastores, and is served once it is back',
  async t => {
    let time = Date.now()
    const server = await startFaultyServer()
    t.after(() => server.close())
    const gateway = await startGateway(t, {
      environment: { FHIR_TEST_URL: server.url },
      plans: unlimitedPlans,
      now: () => new Date(time)
    })
    const client = await createGatewayClient(gateway)
    const live = await createGatewayClient(gateway, { tenantId: client.tenantId, mode: 'live' })
    const getPatients = (who: Client = client) => who.send('GET', 'patients')
    const fetchHealth = async () => {
      time += 10_000
      return (await gateway.inject('/health')).json().data.checks
    }

    server.behave(response => {
      response.socket!.destroy()
    })
    while ((await getPatients()).status !== 503) await pause(20)
    t.match(await fetchHealth(), {
      testDatastore: { status: 'degraded', circuit: 'open' },
      liveDatastore: { status: 'ok', circuit: 'closed' }
    })
    server.seen.length = 0
    const refused = await getPatients()
    t.match(refused, {
      status: 503,
      body: { data: null, code: 'BACKEND_UNAVAILABLE', meta: { status: 503 } },
      headers: { 'retry-after': /^\d+$/ }
    })
    for (const path of [
      'fhir/Patient/1',
      'fhir/Binary/1',
      'fhir/CodeSystem/$lookup?system=http://loinc.org&code=1-8'
    ]) {
      const { status, body, headers } = await client.send('GET', path)
      t.match(
        { status, body, headers },
        { status: 503, body: { resourceType: 'OperationOutcome' }, headers: { 'retry-after': /^\d+$/ } },
        path
      )
    }
    t.strictSame(
      server.seen.filter(({ url }) => !url.endsWith(probePath)),
      [],
      'nothing of it reaches the datastore'
    )
    t.equal((await getPatients(live)).status, 200)
    t.equal((await gateway.inject('/health/ready')).statusCode, 200, 'a restart or another gateway would not help')
    t.match(
      gateway.logged().filter(({ datastore }) => datastore === 'test'),
      [{ level: 50, msg: /^a datastore does not respond/ }],
      'once in the log'
    )

    server.behave(sendJson(200, { resourceType: 'Bundle', type: 'searchset', total: 0 }))
    while ((await getPatients()).status !== 200) await pause(20)
    t.match(await fetchHealth(), { testDatastore: { status: 'ok', circuit: 'closed' } })
  }
)
