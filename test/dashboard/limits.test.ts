import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createSignedInVisitor } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

/** What a browser sends of the form of settings as it came. */
function readForm (html: string): Record<string, string> {
  const inputs = [
    ...html.matchAll(/<input id="(name|datastore)" name="[^"]+" type="text" value="([^"]*)"/g),
    ...html.matchAll(/<input type="hidden" name="(_csrf|[a-z]+-before)" value="([^"]*)"/g)
  ]
  const plan = /<option value="([^"]+)" selected/.exec(html) ?? /<option value="([^"]+)"/.exec(html)
  return { ...Object.fromEntries(inputs.map(([, name, value]) => [name, value])), plan: plan![1]! }
}

t.test('a name that is changed in an old tab preserves the plan and the datastore that were set meanwhile', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization('pro')
  const path = `/dashboard/organizations/${tenantId}`
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const old = readForm((await operator.get(path)).html)
  await gateway.control.organizations.change(tenantId, { plan: 'enterprise', datastore: 'hospital-eu' }, 'test')
  const refused = await operator.send(path, { ...old, name: ' ' })
  t.equal(refused.status, 422)
  t.match(await operator.send(path, { ...readForm(refused.html), name: 'Clinic North' }), { status: 303 })
  t.match(await gateway.control.organizations.find(tenantId), {
    name: 'Clinic North',
    plan: 'enterprise',
    datastore: 'hospital-eu'
  })
  await operator.send(path, { ...readForm((await operator.get(path)).html), datastore: '' })
  t.match(await gateway.control.organizations.find(tenantId), { plan: 'enterprise', datastore: undefined })
})

t.test('an organization whose plan is no longer configured gets no other one unless it is chosen', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization('pro')
  const path = `/dashboard/organizations/${tenantId}`
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const database = new Database(join(gateway.dataDirectory, 'control.db'))
  database.prepare('UPDATE organizations SET plan = ?').run('classic')
  database.close()
  const { html } = await operator.get(path)
  t.match(html, /<option value="classic" selected>classic \(no longer configured\)/)
  t.equal((await operator.send(path, { ...readForm(html), name: 'Clinic North' })).status, 422)
  t.match(await gateway.control.organizations.find(tenantId), { plan: 'classic' })
})

const plans = {
  sandbox: { requestsPerMinute: null, requestsPerMonth: 1, overage: false },
  pro: { requestsPerMinute: null, requestsPerMonth: 1, overage: true },
  enterprise: { requestsPerMinute: null, requestsPerMonth: null, overage: true }
}

async function createOperatorClient (gateway: TestGateway) {
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'a test token' }, 'test')
  return async (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) => {
    const response = await gateway.inject({
      method,
      url: `/control/v1/${path}`,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body && { payload: JSON.stringify(body) })
    })
    return { status: response.statusCode, body: response.json() }
  }
}

t.test(
  'overage can be switched on only with a plan that has it, and no list shows it elsewhere',
  async t => {
    const gateway = await startGateway(t, { plans })
    const send = await createOperatorClient(gateway)
    const refused = { status: 422, body: { message: /has no overage/ } }
    t.match(await send('POST', 'organizations', { name: 'Clinic', plan: 'sandbox', overage: true }), refused)
    const {
      body: {
        data: { tenantId, overage }
      }
    } = await send('POST', 'organizations', { name: 'Clinic', plan: 'sandbox' })
    t.equal(overage, false)
    await send('POST', 'organizations', { name: 'Hospital', plan: 'enterprise' })
    const path = `organizations/${tenantId}`
    t.match(await send('PATCH', path, { overage: true }), refused)
    t.match(await send('PATCH', path, { plan: 'sandbox', overage: true }), refused)
    t.match(
      (await send('GET', 'organizations')).body.data.find((one: { tenantId: string }) => one.tenantId === tenantId),
      { overage: false }
    )
    const { text } = await (await createSignedInVisitor(gateway, { role: 'operator' })).get('/dashboard/organizations')
    t.match(text, /Clinic sandbox none /)
    t.match(text, /Hospital enterprise none /)
    t.match(
      await send('PATCH', path, { plan: 'pro' }),
      { status: 200, body: { data: { overage: true } } },
      'it was not switched off'
    )
    t.match(await send('PATCH', path, { overage: false }), { body: { data: { overage: false } } })
    t.match(await send('PATCH', path, { plan: 'sandbox', overage: false }), {
      status: 200,
      body: { data: { overage: false } }
    })
    t.match(
      await send('PATCH', path, { plan: 'pro' }),
      { body: { data: { overage: false } } },
      'and who did, finds it off again'
    )
  }
)

t.test('MONTHLY_QUOTA_EXCEEDED mentions the switch for overage only with a plan that has it', async t => {
  const gateway = await startGateway(t, { plans })
  for (const [plan, message] of [['sandbox', /^This plan has no overage/], ['pro', /^Turn on overage/]] as const) {
    const { secret, tenantId } = await gateway.createKey({ plan, mode: 'live' })
    await gateway.control.organizations.change(tenantId, { overage: false }, 'test')
    await gateway.catchUp()
    const sendRequest = async () => await gateway.inject({ url: '/v1/patients/none', headers: { 'x-api-key': secret } })
    t.equal((await sendRequest()).statusCode, 404)
    t.match((await sendRequest()).json(), { code: 'MONTHLY_QUOTA_EXCEEDED', message }, plan)
  }
})
