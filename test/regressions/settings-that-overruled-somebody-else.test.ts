import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'tap'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

/** What a browser sends of the form of settings as it came. */
function formIn (html: string): Record<string, string> {
  const inputs = [
    ...html.matchAll(/<input id="(name|datastore)" name="[^"]+" type="text" value="([^"]*)"/g),
    ...html.matchAll(/<input type="hidden" name="(_csrf|[a-z]+-before)" value="([^"]*)"/g)
  ]
  const plan = /<option value="([^"]+)" selected/.exec(html) ?? /<option value="([^"]+)"/.exec(html)
  return { ...Object.fromEntries(inputs.map(([, name, value]) => [name, value])), plan: plan![1]! }
}

test('a name that is changed in an old tab leaves the plan and the datastore that were set meanwhile', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization('pro')
  const path = `/dashboard/organizations/${tenantId}`
  const operator = await signedIn(gateway, { role: 'operator' })
  const old = formIn((await operator.get(path)).html)
  await gateway.control.organizations.change(tenantId, { plan: 'enterprise', datastore: 'hospital-eu' }, 'test')
  const refused = await operator.send(path, { ...old, name: ' ' })
  t.equal(refused.status, 422)
  t.match(await operator.send(path, { ...formIn(refused.html), name: 'Clinic North' }), { status: 303 })
  t.match(await gateway.control.organizations.find(tenantId), {
    name: 'Clinic North',
    plan: 'enterprise',
    datastore: 'hospital-eu'
  })
  await operator.send(path, { ...formIn((await operator.get(path)).html), datastore: '' })
  t.match(await gateway.control.organizations.find(tenantId), { plan: 'enterprise', datastore: undefined })
})

test('an organization whose plan is no longer configured gets no other one unless it is chosen', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization('pro')
  const path = `/dashboard/organizations/${tenantId}`
  const operator = await signedIn(gateway, { role: 'operator' })
  const database = new Database(join(gateway.dataDirectory, 'control.db'))
  database.prepare('UPDATE organizations SET plan = ?').run('classic')
  database.close()
  const { html } = await operator.get(path)
  t.match(html, /<option value="classic" selected>classic \(no longer configured\)/)
  t.equal((await operator.send(path, { ...formIn(html), name: 'Clinic North' })).status, 422)
  t.match(await gateway.control.organizations.find(tenantId), { plan: 'classic' })
})
