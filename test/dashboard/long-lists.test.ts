import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'tap'
import { createSignedInVisitor } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

/** Adds people to an organization, with names in the order in which they come. */
async function addMembers ({ control }: TestGateway, tenantId: string, count: number): Promise<void> {
  for (let at = 1; at <= count; at++) {
    await control.members.upsertFromProvider({
      issuer: 'https://login.example.org',
      subject: `${tenantId} ${at}`,
      email: `p${at}@clinic.example`,
      name: `Person ${at}.`,
      role: 'viewer',
      tenantId
    })
  }
}

test('a long list is shown a page at a time, and any row is on one of them', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  await addMembers(gateway, tenantId, 120)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const path = `/dashboard/organizations/${tenantId}/members`
  const seen = new Set<string>()
  for (let next: string | undefined = path; next !== undefined;) {
    const { html, text } = await operator.get(next)
    const names = text.match(/Person \d+\./g)!
    t.ok(names.length <= 50)
    for (const name of names) seen.add(name)
    next = /rel="next" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  t.equal(seen.size, 120)
  t.match((await operator.get(path)).text, /1–50 of 120 Next/)
  t.match((await operator.get(`${path}?page=3`)).text, /Previous 101–120 of 120/)
  for (const page of ['0', '-1', 'x', '1e9', '2.5', '99999999999999999999']) {
    t.equal((await operator.get(`${path}?page=${page}`)).status, 200, page)
  }
})

test('a long list is searched by parts of names, and the search is preserved from page to page', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  await addMembers(gateway, tenantId, 70)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const path = `/dashboard/organizations/${tenantId}/members`
  t.same((await operator.get(`${path}?search=${encodeURIComponent('PERSON 66.')}`)).text.match(/Person \d+\./g), [
    'Person 66.'
  ])
  t.match((await operator.get(`${path}?search=clinic`)).html, /rel="next" href="[^"]*\?search=clinic&(amp;)?page=2"/)
  t.match((await operator.get(`${path}?search=nobody`)).text, /Nothing matches “nobody”/)
})

test('keys are found by name, by id and by the end of their secret; those that ended come after all others', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const made = []
  for (let at = 1; at <= 55; at++) {
    made.push(await gateway.control.keys.create({ tenantId, name: `key ${at}.`, mode: 'test' }, 'test'))
    // Those of one millisecond have no order.
    await pause(2)
  }
  const [first, second] = [made[0]!, made[1]!]
  await gateway.control.keys.revoke(made[54]!.keyId, 'test')
  const viewer = await createSignedInVisitor(gateway, { role: 'viewer', tenantId })
  const path = `/dashboard/organizations/${tenantId}/keys`
  const listNames = async (query: string) => (await viewer.get(`${path}?${query}`)).text.match(/key \d+\./g)
  t.same(await listNames('page=2'), ['key 4.', 'key 3.', 'key 2.', 'key 1.', 'key 55.'])
  t.same(await listNames(`search=${first.keyId}`), ['key 1.'])
  t.ok((await listNames(`search=${second.secret.slice(-4)}`))!.includes('key 2.'))
  t.notMatch((await viewer.get(`${path}?search=none`)).text, /No active keys/)
})

test('a short list has neither pages nor a search', async t => {
  const gateway = await startGateway(t)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  for (const path of [
    'organizations',
    'operators',
    'tokens',
    `organizations/${await gateway.createOrganization()}/keys`
  ]) {
    t.notMatch((await operator.get(`/dashboard/${path}`)).html, /role="search"|class="pages"/, path)
  }
})
