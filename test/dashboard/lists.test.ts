import t from 'tap'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { createControlService } from '../../src/control-plane/store/control-service.js'
import { toActor } from '../../src/control-plane/store/members.js'
import { type Page, createSignedInVisitor, createVisitor } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

t.test('the audit trail names what was revoked, and what a line is about', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { control } = gateway
  const { keyId } = await control.keys.create({ tenantId, name: 'intake form', mode: 'live' }, 'member:ann@example.org')
  const { tokenId } = await control.tokens.create(
    { tenantId, name: 'deployment', role: 'viewer' },
    'member:ann@example.org'
  )
  await control.keys.revoke(keyId, 'member:ann@example.org')
  await control.tokens.revoke(tokenId, 'member:ann@example.org')
  const viewer = await createSignedInVisitor(gateway, { role: 'viewer', tenantId })
  const path = `/dashboard/organizations/${tenantId}/audit`
  const { text } = await viewer.get(path)
  t.match(text, /revoked a token deployment /)
  t.match(text, /revoked a key intake form /)
  t.match(text, /made a key name: intake form, mode: live, scopes: read, write/)
  t.match((await viewer.get(`${path}?entity=${keyId}`)).text, `What was done with “intake form” (${keyId}).`)
})

const email = 'boss@service.example'
const password = 'a sentence that only I know'

async function join ({ control }: TestGateway, tenantId: string): Promise<string> {
  const { token } = await control.invitations.create({ email, role: 'admin', tenantId }, 'test')
  return (await control.invitations.accept(token, { name: 'Boss', password })).memberId
}

t.test('the audit trail distinguishes members with the same address in all that they did', async t => {
  const gateway = await startGateway(t)
  const { control } = gateway
  const [tenantId, other] = [await gateway.createOrganization(), await gateway.createOrganization()]
  const [memberId, another] = [await join(gateway, tenantId), await join(gateway, other)]
  const browser = createVisitor(gateway)
  await browser.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')
  await browser.post('/dashboard/choose-organization', { member: memberId }, '/dashboard/choose-organization')
  await control.members.changePassword(memberId, { current: password, requested: 'another sentence of mine' })
  t.same(
    (await control.listAuditEntries({ entity: memberId, limit: 10 })).map(({ actor, action }) => `${actor}: ${action}`),
    [
      `member:${email} (${memberId}): password changed`,
      `member:${email} (${memberId}): signed in`,
      `member:${email} (${memberId}): member added`
    ]
  )
  t.match(await control.listAuditEntries({ entity: another, limit: 1 }), [{ actor: `member:${email} (${another})` }])
  const ann = await createSignedInVisitor(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  await createControlService(control, toActor(ann.member)).createKey({ tenantId, name: 'intake', mode: 'test' })
  t.match(await control.listAuditEntries({ tenantId, limit: 1 }), [
    { action: 'key created', actor: `member:ann@example.org (${ann.member.memberId})` }
  ])
  t.match((await ann.get(`/dashboard/organizations/${tenantId}/audit`)).text, `${email} ${memberId} signed in`)
})

t.test('a line from before members had their id in it is shown as it was', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  await gateway.control.keys.create({ tenantId, name: 'intake', mode: 'test' }, `member:${email}`)
  const viewer = await createSignedInVisitor(gateway, { role: 'viewer', tenantId })
  t.match((await viewer.get(`/dashboard/organizations/${tenantId}/audit`)).text, `${email} made a key`)
})

t.test('the usage page distinguishes a rolled key from its successor of the same name', async t => {
  const gateway = await startGateway(t)
  const { tenantId, keyId, secret } = await gateway.createKey()
  const { secret: next, keyId: nextId } = await gateway.control.keys.roll(keyId, 3_600_000, 'test')
  await gateway.catchUp()
  for (const key of [secret, next]) await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': key } })
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const read = async () => await admin.get(`/dashboard/organizations/${tenantId}/usage`)
  const isThere = ({ html }: Page) => [keyId, nextId].every(id => html.includes(`/keys/${id}"`))
  await waitUntil(async () => isThere(await read()))
  const { text } = await read()
  t.match(text, `a test key …${secret.slice(-4)} 1`)
  t.match(text, `a test key …${next.slice(-4)} 1`)
})

// Tokens came oldest first and whatever their state, so that the one just made stood below all that had ended long
// ago.
t.test('tokens are listed like keys: newest first, and those that ended after all others', async t => {
  const clock = { ms: Date.parse('2030-01-01T00:00:00Z') }
  const gateway = await startGateway(t, { now: () => new Date(clock.ms) })
  const tenantId = await gateway.createOrganization()
  for (const of of [undefined, tenantId]) {
    const make = async (name: string, expiresAt?: Date) => {
      clock.ms += 1_000
      return await gateway.control.tokens.create(
        { tenantId: of, name, role: of === undefined ? 'gateway' : 'viewer', expiresAt },
        'test'
      )
    }
    await make('token one')
    const revoked = await make('token two')
    await make('token three', new Date(clock.ms + 60_000))
    await make('token four')
    await gateway.control.tokens.revoke(revoked.tokenId, 'test')
    clock.ms += 60_000
    const operator = await createSignedInVisitor(gateway, {
      role: 'operator',
      email: `ada${clock.ms}@example.org`,
      now: new Date(clock.ms)
    })
    const { html, text } = await operator.get(
      of === undefined ? '/dashboard/tokens' : `/dashboard/organizations/${of}/tokens`
    )
    t.same(text.match(/token (?:one|two|three|four)\b/g), ['token four', 'token one', 'token three', 'token two'])
    t.match(
      text,
      /token one .* Expired and revoked tokens .* token three viewer expired|token one .* Expired and revoked tokens .* token three gateway expired/
    )
    t.equal([...html.matchAll(/>Revoke</g)].length, 2, 'only what still opens something can be revoked')
  }
})

const plans = {
  large: { requestsPerMinute: null, requestsPerMonth: 100, overage: true },
  small: { requestsPerMinute: null, requestsPerMonth: 2, overage: true }
}

t.test(
  'GET /v1/usage has no sum of money, since usage before a change of plan is billed by the earlier plan',
  async t => {
    const gateway = await startGateway(t, { plans, now: () => new Date('2030-01-15T12:00:00Z') })
    const { secret, tenantId } = await gateway.createKey({ plan: 'large', mode: 'live' })
    const getJson = async (path: string) =>
      (await gateway.inject({ url: `/v1/${path}`, headers: { 'x-api-key': secret } })).json()
    for (let i = 0; i < 4; i++) await getJson('patients/none')
    await gateway.control.organizations.change(tenantId, { plan: 'small' }, 'test')
    await gateway.catchUp()
    const { data } = await getJson('usage')
    t.match(data, { plan: 'small', limit: 2, used: 5, overage: 3 })
    const bill = async () => await gateway.control.usage.getBill(tenantId, '2030-01')
    await waitUntil(async () => (await bill()).counted === 5)
    t.match(await bill(), { overage: 1, amount: '0.003' })
    t.notOk('overageAmount' in data)
  }
)

t.test('every page of an organization names it once, to its members as to operators', async t => {
  const gateway = await startGateway(t)
  const { tenantId } = await gateway.control.organizations.create({ name: 'Clinic & Söhne', plan: 'pro' }, 'test')
  const { keyId } = await gateway.createKey({ tenantId })
  const pages = [
    ...['', '/keys', '/keys/new', '/members', '/tokens', '/usage', '/audit'].map(
      page => `organizations/${tenantId}${page}`
    ),
    `keys/${keyId}`,
    `keys/${keyId}/roll`
  ]
  for (const role of ['admin', 'operator'] as const) {
    const person = await createSignedInVisitor(gateway, { role, ...(role === 'admin' ? { tenantId } : {}) })
    for (const path of pages) {
      const { html } = await person.get(`/dashboard/${path}`)
      const [head, main] = html.split('<main')
      t.match(head, /<p class="organization-name">Clinic &amp; Söhne<\/p>/, `${role}: ${path}`)
      t.notMatch(/<h1>[^]*<\/h1>/.exec(main!)?.[0], /Clinic/, `${role}: ${path}`)
    }
  }
})

const extractTitle = ({ html }: { readonly html: string }): string => /<title>(.*)<\/title>/.exec(html)![1]!

t.test('the title of a page names its organization, and says first that a form was refused', async t => {
  const gateway = await startGateway(t)
  const { tenantId } = await gateway.control.organizations.create({ name: 'Clinic', plan: 'pro' }, 'test')
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const path = `/dashboard/organizations/${tenantId}`
  t.equal(extractTitle(await operator.get(path)), 'Overview · Clinic · clinigate')
  t.equal(extractTitle(await operator.get(`${path}/keys`)), 'Keys · Clinic · clinigate')
  t.equal(extractTitle(await operator.get('/dashboard/tokens')), 'Tokens · clinigate')
  t.equal(extractTitle(await operator.post(`${path}/keys/new`, { name: ' ' })), 'Error: New key · Clinic · clinigate')
})

t.test('a new key is shown with a request that it may make, and a write-only key with none', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  for (const scopes of ['*', 'read', 'write']) {
    const { text } = await admin.post(`/dashboard/organizations/${tenantId}/keys/new`, {
      once: createIdempotencyToken(),
      name: 'Intake form',
      mode: 'test',
      scopes
    })
    t.match(text, 'Copy the secret now.')
    t.equal(text.includes('It lists the patients'), scopes !== 'write', scopes)
  }
  const { keyId } = await gateway.createKey({ tenantId, scopes: ['write'] })
  t.notMatch((await admin.post(`/dashboard/keys/${keyId}/roll`, { overlap: 'now' })).text, 'It lists the patients')
})
