import { test } from 'tap'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { getKeyStatus } from '../../src/control-plane/dashboard/keys/list.js'
import { createSignedInVisitor, type Page, type Visitor } from '../harness/dashboard.js'
import { listDataFiles } from '../harness/data-files.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

const validForm = { mode: 'test', scopes: '*', lastDay: '' }
const secretForm = /svc_(test|live)_[0-9A-Za-z]{49}/

async function signInAdmin (
  gateway: TestGateway
): Promise<{ readonly admin: Visitor; readonly tenantId: string; readonly path: string }> {
  const tenantId = await gateway.createOrganization()
  return {
    admin: await createSignedInVisitor(gateway, { role: 'admin', tenantId }),
    tenantId,
    path: `/dashboard/organizations/${tenantId}/keys`
  }
}

function extractSecret ({ html }: Page): string {
  const found = secretForm.exec(html)?.[0]
  if (found === undefined) throw new Error('the page shows no secret')
  return found
}

/** The bytes of SQLite's database files, and every line of the log. */
function readStoredText (gateway: TestGateway): string {
  const files = listDataFiles(gateway.dataDirectory).map(({ bytes }) => bytes.toString('latin1'))
  return [...files, JSON.stringify(gateway.logged())].join('\n')
}

test('a new key authenticates with the secret that its page shows, by the very command shown next to it', async t => {
  const gateway = await startGateway(t)
  const { admin, path } = await signInAdmin(gateway)
  const made = await admin.post(
    `${path}/new`,
    { ...validForm, once: createIdempotencyToken(), name: ' intake form ' },
    `${path}/new`
  )
  t.equal(made.status, 201)
  t.equal(made.headers['cache-control'], 'no-store')
  const secret = extractSecret(made)
  t.match(made.text, `/v1/patients -H 'x-api-key: ${secret}'`)
  await gateway.catchUp()
  t.equal((await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).statusCode, 200)
  const list = await admin.get(path)
  t.match(list.text, /intake form …\w{4} active test read, write /)
})

test('a secret is shown once: not on any page after it, nor in the database, a session, a cookie or the log', async t => {
  const gateway = await startGateway(t)
  const { admin, tenantId, path } = await signInAdmin(gateway)
  const form = { ...validForm, once: createIdempotencyToken(), name: 'shown once' }
  const made = await admin.post(`${path}/new`, form, `${path}/new`)
  const secret = extractSecret(made)
  const keyId = /\/dashboard\/keys\/(key-[a-z0-9]+)/.exec(made.html)![1]!
  const rolled = await admin.post(`/dashboard/keys/${keyId}/roll`, { overlap: '1h' })
  const token = await admin.post(`/dashboard/organizations/${tenantId}/tokens`, {
    once: createIdempotencyToken(),
    name: 'a program',
    role: 'viewer'
  })
  const invitation = await admin.post(`/dashboard/organizations/${tenantId}/members`, {
    once: createIdempotencyToken(),
    email: 'bob@example.org',
    role: 'viewer'
  })
  const secrets = [
    secret,
    extractSecret(rolled),
    /cg_control_\w{49}/.exec(token.html)![0],
    /\/invitations\/(\w{43})/.exec(invitation.html)![1]!
  ]
  t.equal(new Set(secrets).size, 4)
  const again = await Promise.all(
    [
      path,
      `/dashboard/keys/${keyId}`,
      `/dashboard/keys/${keyId}/propagation`,
      `/dashboard/organizations/${tenantId}/tokens`,
      `/dashboard/organizations/${tenantId}/members`,
      `/dashboard/organizations/${tenantId}/audit`
    ].map(async page => (await admin.get(page)).html)
  )
  const left = [...again, readStoredText(gateway), JSON.stringify([...admin.cookies])].join('\n')
  for (const one of secrets) t.notOk(left.includes(one))
  t.ok(left.includes(keyId))
})

test('a form that is sent twice creates one key, token, invitation or organization, and says so, without another secret', async t => {
  const gateway = await startGateway(t)
  const { tenantId, path } = await signInAdmin(gateway)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const organization = `/dashboard/organizations/${tenantId}`
  const forms = [
    [`${path}/new`, { ...validForm, name: 'one' }],
    [`${organization}/tokens`, { name: 'one', role: 'viewer' }],
    [`${organization}/members`, { email: 'one@example.org', role: 'viewer' }],
    ['/dashboard/organizations/new', { name: 'one', plan: 'pro' }],
    ['/dashboard/tokens', { name: 'one', role: 'gateway' }],
    ['/dashboard/operators', { email: 'one@example.org', role: 'operator' }]
  ] as const
  for (const [to, fields] of forms) {
    const _csrf = await operator.fetchToken()
    const form = { ...fields, _csrf, once: createIdempotencyToken() }
    const responses = await Promise.all([operator.send(to, form), operator.send(to, form)])
    t.same(
      responses.map(({ status }) => status).sort(),
      [responses.find(({ status }) => status < 400)!.status, 409].sort(),
      to
    )
    const repeated = await operator.send(to, form)
    t.equal(repeated.status, 409)
    t.match(repeated.text, /already sent/)
    t.notMatch(repeated.html, secretForm)
  }
  t.equal((await gateway.control.keys.list(tenantId)).length, 1)
  t.equal((await gateway.control.tokens.list(tenantId)).length, 1)
  t.equal((await gateway.control.invitations.list(tenantId)).length, 1)
  t.equal((await gateway.control.organizations.list()).length, 2)
})

test('the idempotency token of a form belongs to one organization: another one that knows it still creates its key', async t => {
  const gateway = await startGateway(t)
  const [one, other] = [await signInAdmin(gateway), await signInAdmin(gateway)]
  const form = { ...validForm, once: createIdempotencyToken(), name: 'the same mark' }
  t.equal((await one.admin.post(`${one.path}/new`, form)).status, 201)
  t.equal((await other.admin.post(`${other.path}/new`, form)).status, 201)
})

test('a rejected form is shown again with the typed values and what to do', async t => {
  const gateway = await startGateway(t)
  const { admin, tenantId, path } = await signInAdmin(gateway)
  const typed = { name: 'typed before' }
  for (const [wrong, words] of [
    [{ name: ' ' }, /A name must have 1 to 200 characters/],
    [{ mode: 'prod' }, /mode of a key must be test or live/],
    [{ scopes: 'all' }, /scopes of a key must be/],
    [{ lastDay: '2020-01-01' }, /time in the future/],
    [{ lastDay: 'soon' }, /Write the last day as/]
  ] as const) {
    const response = await admin.post(`${path}/new`, { ...validForm, ...typed, ...wrong, once: createIdempotencyToken() })
    t.equal(response.status, 422)
    t.match(response.text, words)
    if (!('name' in wrong)) t.match(response.html, /value="typed before"/)
    t.match(response.html, /role="alert"/)
  }
  t.equal((await gateway.control.keys.list(tenantId)).length, 0)
})

test('a key works through its last day, until midnight UTC', async t => {
  const gateway = await startGateway(t)
  const { admin, tenantId, path } = await signInAdmin(gateway)
  t.equal(
    (await admin.post(`${path}/new`, { ...validForm, once: createIdempotencyToken(), name: 'until', lastDay: '2199-12-31' }))
      .status,
    201
  )
  const [key] = await gateway.control.keys.list(tenantId)
  t.equal(key!.expiresAt, '2200-01-01T00:00:00.000Z')
  t.equal((await admin.post(`/dashboard/keys/${key!.keyId}`, { lastDay: '2199-01-30' })).status, 303)
  t.equal((await gateway.control.keys.find(key!.keyId)).expiresAt, '2199-01-31T00:00:00.000Z')
  t.equal((await admin.post(`/dashboard/keys/${key!.keyId}`, { lastDay: '' })).status, 422)
})

test('rolling keeps the old key for the overlap that was chosen, and now means at once', async t => {
  const gateway = await startGateway(t)
  const { admin, tenantId } = await signInAdmin(gateway)
  for (const [overlap, status] of [['7d', 200], ['now', 401]] as const) {
    const old = await gateway.createKey({ tenantId })
    const rolled = await admin.post(
      `/dashboard/keys/${old.keyId}/roll`,
      { overlap },
      `/dashboard/keys/${old.keyId}/roll`
    )
    t.equal(rolled.status, 201)
    await gateway.catchUp()
    const open = async (secret: string) =>
      (await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).statusCode
    t.equal(await open(old.secret), status, `the old one after ${overlap}`)
    t.equal(await open(extractSecret(rolled)), 200, 'the new one')
    const twice = await admin.post(`/dashboard/keys/${old.keyId}/roll`, { overlap })
    t.equal(twice.status, 409)
    t.match(twice.text, overlap === 'now' ? /was revoked\. Create a new one/ : /was already rolled/)
  }
  const { keyId } = await gateway.createKey({ tenantId })
  t.equal((await admin.post(`/dashboard/keys/${keyId}/roll`, { overlap: '1y' })).status, 422)
})

test('revoking requires a confirmation with name and last use, and then shows the gateways where it is in force', async t => {
  const gateway = await startGateway(t)
  const { admin, tenantId } = await signInAdmin(gateway)
  const { keyId, secret } = await gateway.createKey({ tenantId })
  const request = await admin.get(`/dashboard/keys/${keyId}/revoke`)
  t.match(request.text, /Revoke “a test key”\?.*last used: never/)
  t.equal((await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).statusCode, 200)
  const revoked = await admin.post(`/dashboard/keys/${keyId}/revoke`)
  t.equal(revoked.headers.location, `/dashboard/keys/${keyId}/propagation`)
  const reach = await admin.get(`/dashboard/keys/${keyId}/propagation`)
  t.match(reach.text, /“a test key” is revoked.*in force [\d,]+ (ms|seconds)/)
  t.equal((await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).statusCode, 401)
})

test('a change that a connected gateway has not taken yet is shown as on its way, with a link to look again; one that is cut off as such', async t => {
  const gateway = await startGateway(t)
  const { admin, tenantId } = await signInAdmin(gateway)
  const { keyId } = await gateway.createKey({ tenantId })
  const behind = {
    name: 'gateway-behind',
    version: '1',
    startedAt: new Date().toISOString(),
    position: { feedId: 'other', seq: 0 },
    checks: {}
  }
  await gateway.control.gateways.report({ ...behind, gatewayId: 'behind' })
  const page = await admin.get(`/dashboard/keys/${keyId}/propagation`)
  t.match(page.text, /gateway-behind not yet in force not measured .*Refresh/)
})

test('a key is shown as expiring two weeks before its end, and a rolled one as rolled until its end', async t => {
  const now = new Date('2026-06-15T12:00:00Z')
  t.equal(getKeyStatus({}, now), 'good')
  t.equal(getKeyStatus({ expiresAt: '2026-06-29T12:00:00.001Z' }, now), 'good')
  t.equal(getKeyStatus({ expiresAt: '2026-06-29T12:00:00.000Z' }, now), 'expiring')
  t.equal(getKeyStatus({ expiresAt: '2026-06-15T12:00:00.000Z' }, now), 'expired')
  t.equal(getKeyStatus({ expiresAt: '2026-06-16T12:00:00.000Z', successor: 'key-b' }, now), 'rolled')
  t.equal(
    getKeyStatus(
      { expiresAt: '2026-06-16T12:00:00.000Z', successor: 'key-b', revokedAt: '2026-06-15T11:00:00.000Z' },
      now
    ),
    'revoked'
  )
})
