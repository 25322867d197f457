import { test, type Test } from 'tap'
import { computeAxisMaximum } from '../../src/control-plane/dashboard/usage/chart.js'
import { formatDuration } from '../../src/control-plane/dashboard/format.js'
import { formatDetail, parseActor } from '../../src/control-plane/dashboard/audit/labels.js'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { createSignedInVisitor } from '../harness/dashboard.js'
import { setScene, type TestClock } from '../harness/dashboard-scene.js'
import { startGateway } from '../harness/gateway.js'

async function startClinic (t: Test) {
  const clock: TestClock = { shiftMs: 0 }
  const gateway = await startGateway(t, { now: () => new Date(Date.now() + clock.shiftMs) })
  return { gateway, clock, scene: await setScene(gateway.control, clock) }
}

test('the list of organizations counts the valid keys, and leads to each', async t => {
  const { gateway, scene } = await startClinic(t)
  const { html, text } = await (await createSignedInVisitor(gateway, { role: 'operator' })).get('/dashboard/organizations')
  t.match(text, /Clinic on the Lake starter on 4 /)
  t.match(text, /Laboratory Nord pro off 0 /)
  t.match(html, `href="/dashboard/organizations/${scene.tenantId}"`)
})

test('an operator makes an organization with one of the configured plans and changes its name, plan and datastore', async t => {
  const gateway = await startGateway(t, {
    plans: {
      small: { requestsPerMinute: 10, requestsPerMonth: 100, overage: false },
      enterprise: { requestsPerMinute: null, requestsPerMonth: null, overage: true }
    }
  })
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  t.match(
    (await operator.get('/dashboard/organizations/new')).text,
    /small 10 requests a minute, 100 a month; more is refused enterprise any number/
  )
  const made = await operator.post('/dashboard/organizations/new', {
    once: createIdempotencyToken(),
    name: 'Clinic',
    plan: 'small'
  })
  t.equal(made.status, 303)
  const path = String(made.headers.location)
  t.match((await operator.get(path)).text, /Organization “Clinic” created\./)
  t.notMatch((await operator.get(path)).text, /created\./, 'said once')
  t.equal((await operator.post(path, { name: 'Clinic North', plan: 'enterprise', datastore: 'north' })).status, 303)
  t.match((await operator.get(path)).text, /Clinic North.*Plan enterprise.*Datastore of live keys north/)
  t.equal((await operator.post(path, { name: 'Clinic', plan: 'gold', datastore: '' })).status, 422)
  t.equal(
    (
      await operator.post('/dashboard/organizations/new', {
        once: createIdempotencyToken(),
        name: 'Clinic',
        plan: 'gold'
      })
    ).status,
    422
  )
})

test('an admin switches overage where the plan has it, and is not offered it where the plan has none', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization('pro')
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const path = `/dashboard/organizations/${tenantId}`
  t.match((await admin.get(path)).text, /Switch overage off/)
  t.equal((await admin.post(`${path}/overage`, { overage: 'off' })).status, 303)
  t.equal((await gateway.control.organizations.find(tenantId)).overage, false)
  t.match((await admin.get(path)).text, /Switch overage on/)
  await gateway.control.organizations.change(tenantId, { plan: 'sandbox' }, 'test')
  t.notMatch((await admin.get(path)).text, /overage (on|off)/i)
})

test('an enterprise without a datastore of its own sees that live requests are refused', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization('enterprise')
  const { text } = await (
    await createSignedInVisitor(gateway, { role: 'viewer', tenantId })
  ).get(`/dashboard/organizations/${tenantId}`)
  t.match(text, /Datastore of live keys none is configured: live requests are refused/)
})

test('usage says by day, key and resource what the ledger counted, test and live apart, and the chart says the same as the table', async t => {
  const { gateway, scene } = await startClinic(t)
  const viewer = await createSignedInVisitor(gateway, { role: 'viewer', tenantId: scene.tenantId })
  // Of a moment that the scene has for sure, also when a month has just begun.
  const month = new Date(Date.now() - 120_000).toISOString().slice(0, 7)
  const path = `/dashboard/organizations/${scene.tenantId}/usage?month=${month}`
  const live = await viewer.get(path)
  const { totals } = await gateway.control.usage.sumUsage({
    tenantId: scene.tenantId,
    mode: 'live',
    from: new Date(`${month}-01`),
    to: new Date(),
    by: 'day'
  })
  const days = totals.filter(({ requests }) => requests > 0)
  t.ok(days.length > 0)
  for (const { from, requests, errors, refused } of days) {
    const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(
      new Date(from)
    )
    const counts = [requests, errors, refused].map(count => count.toLocaleString('en-US'))
    t.ok(live.text.includes(`${day}: ${counts[0]} request`), `${day} in the chart`)
    t.ok(live.text.includes(`${day} ${counts.join(' ')}`), `${day} in the table`)
  }
  t.match(live.html, /<svg[^>]* role="img" aria-labelledby="by-day-title by-day-description"/)
  t.match(live.text, /Intake form/)
  t.notMatch(live.text, /Continuous integration|Bundle/)
  const trial = await viewer.get(`${path}&mode=test`)
  t.match(trial.text, /Continuous integration/)
  t.notMatch(trial.text, /Intake form/)
  const old = await viewer.get(`/dashboard/organizations/${scene.tenantId}/usage?month=2025-02`)
  t.match(old.text, /No request with a live key in February 2025/)
  t.equal((await viewer.get(`/dashboard/organizations/${scene.tenantId}/usage?month=2025-13&mode=none`)).status, 200)
})

test('the audit trail is described in words, a page at a time, for everything or for one entity', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const first = await gateway.createKey({ tenantId })
  for (let key = 0; key < 60; key++) {
    await gateway.control.keys.create({ tenantId, mode: 'test', name: `key ${key}` }, 'member:ann@example.org')
  }
  const path = `/dashboard/organizations/${tenantId}/audit`
  const newest = await admin.get(path)
  t.match(newest.text, /ann@example\.org made a key name: key 59, mode: test/)
  t.notMatch(newest.text, /key 5,|Newest/)
  const older = await admin.get(/href="([^"]*\?before=\d+)"/.exec(newest.html)![1]!)
  t.match(older.text, /key 5,/)
  t.match(older.text, /made the organization/)
  t.match(older.text, /Newest/)
  t.notMatch(older.text, /Older|key 59/)
  const one = await admin.get(`${path}?entity=${first.keyId}`)
  t.match(one.text, /made a key name: a test key/)
  t.notMatch(one.text, /key 1,/)
})

test("an organization's trail shows nothing of another organization, whichever entity is requested", async t => {
  const gateway = await startGateway(t)
  const other = await gateway.createKey()
  const tenantId = await gateway.createOrganization()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const request = await admin.get(`/dashboard/organizations/${tenantId}/audit?entity=${other.keyId}`)
  const never = await admin.get(`/dashboard/organizations/${tenantId}/audit?entity=key-never`)
  t.match(request.text, /Nothing here/)
  t.equal(request.text.replaceAll(other.keyId, ''), never.text.replaceAll('key-never', ''))
})

test('people are invited by a link that works, get another role and are removed at once', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const path = `/dashboard/organizations/${tenantId}/members`
  const invited = await admin.post(path, { once: createIdempotencyToken(), email: 'Bob@Example.org', role: 'viewer' })
  const link = /http[^"< ]*\/dashboard\/invitations\/\w{43}/.exec(invited.html)![0]
  t.equal((await gateway.inject({ url: new URL(link).pathname })).statusCode, 200)
  t.match((await admin.get(path)).text, /Invited .*bob@example\.org viewer/)
  const [invitation] = await gateway.control.invitations.list(tenantId)
  t.equal((await admin.post(`/dashboard/invitations/${invitation!.invitationId}/withdraw`)).status, 303)
  t.equal((await gateway.inject({ url: new URL(link).pathname })).statusCode, 404)
  const viewer = await createSignedInVisitor(gateway, { role: 'viewer', tenantId })
  t.equal((await admin.post(`/dashboard/members/${viewer.member.memberId}/remove`)).status, 303)
  t.equal((await viewer.get(path)).status, 303, 'led to the sign-in')
  t.equal(
    (await admin.post(path, { once: createIdempotencyToken(), email: 'bob@example.org', role: 'operator' })).status,
    422,
    "an admin can't invite an operator"
  )
})

test('a member who has a password gets a new one, which is shown once and opens the dashboard', async t => {
  const { gateway, scene } = await startClinic(t)
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId: scene.tenantId })
  t.match(
    (await admin.get(`/dashboard/members/${scene.memberId}/password`)).text,
    /Reset the password of Annemarie van der Heijden\?/
  )
  const reset = await admin.post(`/dashboard/members/${scene.memberId}/password`)
  t.equal(reset.status, 201)
  const password = /data-copy="(\w{20})"/.exec(reset.html)![1]!
  t.equal((await gateway.control.members.findByPassword('annemarie.van-der-heijden@clinic.example', password)).length, 1)
  t.match(await gateway.control.members.find(scene.memberId), { mustChangePassword: true })
  t.equal((await admin.post(`/dashboard/members/${scene.memberId}/role`, { role: 'admin' })).status, 303)
  t.match(await gateway.control.members.find(scene.memberId), { role: 'admin' })
})

test('tokens of gateways are shown with the command that starts one, and are refused once revoked', async t => {
  const gateway = await startGateway(t)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  t.match((await operator.get('/dashboard/gateways')).text, /Gateways/)
  const made = await operator.post('/dashboard/tokens', { once: createIdempotencyToken(), name: 'eu-1', role: 'gateway' })
  const secret = /cg_gateway_\w{49}/.exec(made.html)![0]
  t.match(made.text, `CLINIGATE_GATEWAY_TOKEN=${secret} npx clinigate start --role gateway`)
  const [token] = await gateway.control.tokens.list()
  t.match(await gateway.control.tokens.findBySecret(secret), { role: 'gateway' })
  t.equal((await operator.post(`/dashboard/tokens/${token!.tokenId}/revoke`)).status, 303)
  t.equal(await gateway.control.tokens.findBySecret(secret), undefined)
})

test('operators see which gateways are connected, how far each is behind, and its state', async t => {
  const { gateway } = await startClinic(t)
  const { text } = await (await createSignedInVisitor(gateway, { role: 'operator' })).get('/dashboard/gateways')
  t.match(text, /gateway-eu-2 connected .* 1 change 1\.4\.0/)
  t.match(text, /gateway-us-1 disconnected .* 3 changes .*live degraded/)
})

test('the top of a chart is a round number just above the tallest bar', async t => {
  t.same(
    [0, 1, 2, 7, 11, 99, 101, 2242, 5001, 1e9].map(computeAxisMaximum),
    [1, 1, 2, 8, 15, 100, 150, 2500, 6000, 1e9]
  )
})

test('the audit trail names people as people do', async t => {
  t.same(parseActor('member:ann@example.org (mem-a)'), { text: 'ann@example.org', memberId: 'mem-a' })
  t.same(
    ['member:ann@example.org', 'cli:root', 'token:tok-a', 'provider:login.example.org', 'first start', 'member:'].map(
      actor => parseActor(actor).text
    ),
    ['ann@example.org', 'root at the command line', 'token tok-a', 'the provider login.example.org', 'first start', '']
  )
  t.equal(
    formatDetail({
      name: 'a',
      overage: false,
      expiresAt: '2030-01-31T00:00:00.000Z',
      datastore: null,
      tenantId: 'org-a'
    }),
    'name: a, overage: off, expires: 2030-01-31 00:00 UTC'
  )
  t.same([null, 'text', {}].map(formatDetail), ['', '', ''])
})

test('the duration of a change is shown in milliseconds, and in larger units when it is long', async t => {
  t.same([0, 812, 9_999, 10_000, 59_600, 600_000, 82_800_208].map(formatDuration), [
    '0 ms',
    '812 ms',
    '9,999 ms',
    '10 seconds',
    '60 seconds',
    '10 minutes',
    '23 hours'
  ])
})
