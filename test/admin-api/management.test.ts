import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { operations } from '../../src/control-plane/admin-api/operations.js'
import { buildManagementDocument } from '../../src/control-plane/admin-api/document.js'
import type { NamedOperation } from '../../src/control-plane/admin-api/operation.js'
import type { TokenRole } from '../../src/control-plane/store/token-store.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { lintDocument } from '../openapi/lint.js'

/** A program with a token of its own. */
async function createTokenClient (gateway: TestGateway, role: TokenRole, tenantId?: string) {
  const { secret, tokenId } = await gateway.control.tokens.create({ role, tenantId, name: 'a test token' }, 'test')
  const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await gateway.inject({
      method: method as 'GET',
      url: `/control/v1/${path}`,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers
      },
      ...(body ? { payload: JSON.stringify(body) } : {})
    })
    return { status: response.statusCode, body: response.json(), headers: response.headers }
  }
  return { secret, tokenId, send }
}

/** Two organizations, each with a key, a member, an invitation and a token, and their ids. */
async function startScene (t: Test) {
  const gateway = await startGateway(t)
  const operator = await createTokenClient(gateway, 'operator')
  const tenants = await Promise.all(['one', 'two'].map(async name => {
    const { body: { data: { tenantId } } } = await operator.send('POST', 'organizations', { name, plan: 'pro' })
    const {
      body: {
        data: { keyId }
      }
    } = await operator.send('POST', `organizations/${tenantId}/keys`, { name: 'a key', mode: 'test' })
    const invite = (email: string) => gateway.control.invitations.create({ tenantId, email, role: 'viewer' }, 'test')
    const { token } = await invite('ann@example.org')
    const { memberId } = await gateway.control.invitations.accept(token, {
      name: 'Ann',
      password: 'a long enough password'
    })
    const { invitationId } = await invite('bob@example.org')
    const { tokenId } = await gateway.control.tokens.create({ role: 'viewer', tenantId, name: 'another token' }, 'test')
    const { id: webhookId } = await gateway.control.webhooks.create(
      { url: 'https://files.example.org/a', enabled: false }, { tenantId, mode: 'test', by: 'test' }
    )
    return {
      ids: { tenantId, keyId, memberId, invitationId, tokenId, webhookId },
      admin: await createTokenClient(gateway, 'admin', tenantId),
      viewer: await createTokenClient(gateway, 'viewer', tenantId)
    }
  }))
  return { gateway, operator, one: tenants[0]!, two: tenants[1]! }
}

const bodies: Readonly<Record<string, object>> = {
  createOrganization: { name: 'x', plan: 'pro' },
  changeOrganization: { overage: false },
  createKey: { name: 'x', mode: 'live' },
  changeKey: { expiresAt: '2099-01-01T00:00:00Z' },
  rollKey: { overlapSeconds: 0 },
  invite: { email: 'cleo@example.org', role: 'admin' },
  inviteOfOperators: { email: 'cleo@example.org', role: 'operator' },
  createToken: { name: 'x', role: 'viewer' },
  createTokenOfOperators: { name: 'x', role: 'gateway' },
  changeMember: { role: 'admin' },
  createWebhook: { url: 'https://files.example.org/b', mode: 'test' },
  changeWebhook: { description: 'x' },
  resendWebhook: { since: '2030-01-01T00:00:00Z' }
}

const queries: Readonly<Record<string, string>> = {
  readUsage: '?from=2030-01-01T00:00:00Z&to=2030-01-03T00:00:00Z&by=day'
}

const buildPath = ({ path, id }: Pick<NamedOperation, 'path' | 'id'>, ids: Readonly<Record<string, string>>) =>
  path.slice(1).replaceAll(/:(\w+)/g, (_, name: string) => (name === 'month' ? '2030-01' : ids[name]!)) +
  (queries[id] ?? '')

/** Everything that the control plane stores, except sessions and times of use. */
async function readStored ({ control }: TestGateway): Promise<string> {
  const organizations = await control.organizations.list()
  const parts = await Promise.all(
    [undefined, ...organizations.map(({ tenantId }) => tenantId)].map(async tenantId => [
      tenantId === undefined ? [] : await control.keys.list(tenantId),
      await control.members.list(tenantId),
      await control.invitations.list(tenantId),
      await control.tokens.list(tenantId),
      tenantId === undefined ? [] : await control.webhooks.list({ tenantId, mode: 'test' })
    ])
  )
  return JSON.stringify([organizations, parts, await control.listAuditEntries({ limit: 1000 })])
}

t.test('every operation responds to an operator as the document says', { timeout: 300_000 }, async t => {
  const { operator, one } = await startScene(t)
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } })
  for (const { id, method, path, responseSchema, body } of [...operations].sort(
    (a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE')
  )) {
    t.equal(body === undefined, bodies[id] === undefined, `${id}: the test has a body where the operation has one`)
    // A key that was revoked takes no other change, so each operation on keys has one of its own.
    const {
      body: {
        data: { keyId }
      }
    } = await operator.send('POST', `organizations/${one.ids.tenantId}/keys`, { name: id, mode: 'test' })
    const response = await operator.send(method, buildPath({ path, id }, { ...one.ids, keyId }), bodies[id])
    t.ok(response.status === 200 || response.status === 201, `${id}: ${response.status} ${response.body.message ?? ''}`)
    t.ok(ajv.validate(responseSchema, response.body.data), `${id}: ${JSON.stringify(ajv.errors)}`)
    t.equal(response.headers['cache-control'], 'no-store')
  }
})

t.test(
  'for an admin or viewer of another organization everything is as if unknown, and nothing changes',
  { timeout: 300_000 },
  async t => {
    const { gateway, one, two } = await startScene(t)
    const unknown = Object.fromEntries(Object.keys(one.ids).map(name => [name, `${name.slice(0, 3)}-nothing`]))
    const before = await readStored(gateway)
    for (const who of ['admin', 'viewer'] as const) {
      for (const { id, method, path } of operations.filter(({ path }) => path.includes(':'))) {
        const [foreign, none] = [
          await two[who].send(method, buildPath({ path, id }, one.ids), bodies[id]),
          await two[who].send(method, buildPath({ path, id }, unknown), bodies[id])
        ]
        t.equal(foreign.status, 404, `${who} ${id}`)
        const {
          requestId: _,
          meta: { requestId: __, timestamp: ___, ...meta },
          ...rest
        } = foreign.body
        const {
          requestId: ____,
          meta: { requestId: _____, timestamp: ______, ...otherMeta },
          ...otherRest
        } = none.body
        t.same([rest, meta], [otherRest, otherMeta], `${who} ${id}: the same words`)
      }
    }
    t.equal(await readStored(gateway), before, 'nothing changed')
    const {
      body: { data: seen }
    } = await two.admin.send('GET', 'organizations')
    t.match(seen, { length: 1, 0: { tenantId: two.ids.tenantId } })
  }
)

t.test(
  "a viewer reads and changes nothing, and an admin cannot use the operator's operations",
  { timeout: 300_000 },
  async t => {
    const { gateway, one } = await startScene(t)
    const before = await readStored(gateway)
    for (const { id, method, path } of operations.filter(({ method }) => method !== 'GET')) {
      const response = await one.viewer.send(method, buildPath({ path, id }, one.ids), bodies[id])
      t.ok([403, 404].includes(response.status), `${id}: ${response.status}`)
    }
    for (const { id, method, path } of operations.filter(({ id }) =>
      /OfOperators$|^createOrganization$|^listGateways$|^listWholeAuditTrail$/.test(id)
    )) {
      const response = await one.admin.send(method, buildPath({ path, id }, one.ids), bodies[id])
      t.ok([403, 404].includes(response.status), `${id}: ${response.status}`)
    }
    t.match(await one.admin.send('PATCH', `organizations/${one.ids.tenantId}`, { plan: 'enterprise' }), { status: 403 })
    t.match(
      await one.admin.send('POST', `organizations/${one.ids.tenantId}/tokens`, { name: 'x', role: 'operator' }),
      { status: 422 },
      'no token is mightier than its maker'
    )
    t.match(await one.admin.send('POST', `organizations/${one.ids.tenantId}/tokens`, { name: 'x', role: 'gateway' }), {
      status: 422
    })
    t.match(
      await one.admin.send('POST', `organizations/${one.ids.tenantId}/invitations`, {
        email: 'x@example.org',
        role: 'operator'
      }),
      { status: 422 }
    )
    t.match(await one.admin.send('PATCH', `members/${one.ids.memberId}`, { role: 'operator' }), { status: 422 })
    t.equal(await readStored(gateway), before, 'nothing changed')
    t.match(await one.admin.send('PATCH', `organizations/${one.ids.tenantId}`, { overage: false }), {
      status: 200,
      body: { data: { overage: false } }
    })
  }
)

t.test('only a valid management token gives access to it, and a revoked one no longer does', async t => {
  const gateway = await startGateway(t)
  const { send, secret, tokenId } = await createTokenClient(gateway, 'operator')
  const gatewayToken = await createTokenClient(gateway, 'gateway')
  const { secret: key } = await gateway.createKey()
  t.match(await send('GET', 'me'), { status: 200, body: { data: { name: `token:${tokenId}`, role: 'operator' } } })
  for (const authorization of [
    '',
    'Bearer',
    `Basic ${secret}`,
    `Bearer ${secret.slice(0, -1)}`,
    `Bearer ${gatewayToken.secret}`,
    `Bearer ${key}`
  ]) {
    t.match(await send('GET', 'organizations', undefined, { authorization }), {
      status: 401,
      body: { data: null, code: 'UNAUTHORIZED' }
    })
  }
  t.match(await send('GET', 'nothing'), { status: 404 })
  await gateway.control.tokens.revoke(tokenId, 'test')
  t.match(await send('GET', 'me'), { status: 401 })
  t.notMatch(JSON.stringify(gateway.logged()), new RegExp(secret), 'no token in the log')
})

t.test('an invalid request is rejected with every wrong field, and no value is repeated', async t => {
  const { operator, one } = await startScene(t)
  const keys = `organizations/${one.ids.tenantId}/keys`
  const wrong = await operator.send('POST', keys, {
    name: '',
    mode: 'sw0rdfish',
    scope: ['read'],
    expiresAt: 'sw0rdfish'
  })
  t.match(wrong, { status: 422, body: { code: 'VALIDATION_ERROR' } })
  t.same(wrong.body.issues.map(({ expression }: { expression: string[] }) => expression[0]).sort(), [
    'expiresAt',
    'mode',
    'name',
    'scope'
  ])
  t.match(JSON.stringify(wrong.body), /did you mean scopes/)
  t.notMatch(JSON.stringify(wrong.body), /sw0rdfish/)
  t.match(await operator.send('POST', keys, { name: 'x', mode: 'test', expiresAt: '2001-01-01T00:00:00Z' }), {
    status: 422,
    body: { message: /future/ }
  })
  t.match(await operator.send('POST', `keys/${one.ids.keyId}/revoke`, { reason: 'x' }), {
    status: 422,
    body: { message: /without a body/ }
  })
  t.match(
    await operator.send('POST', `keys/${one.ids.keyId}/revoke`, {}),
    { status: 200 },
    'an empty object is no body'
  )
  t.match(await operator.send('GET', 'audit?limit=0'), { status: 400 })
  t.match(await operator.send('GET', 'audit?limit=1&limit=2'), { status: 400 })
  t.match(await operator.send('GET', 'me?x=1'), { status: 400 })
  t.match(await operator.send('GET', 'audit?limit=1'), { status: 200, body: { data: { length: 1 } } })
})

t.test('the document passes the linter, has every operation, and needs no token', async t => {
  const gateway = await startGateway(t)
  const response = await gateway.inject('/control/v1/openapi.json')
  t.equal(response.statusCode, 200)
  const ids = Object.values(response.json().paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    path => Object.values(path).map(({ operationId }) => operationId)
  )
  t.same(ids.sort(), operations.map(({ id }) => id).sort())
  t.equal(new Set(ids).size, ids.length)
  t.same(
    await lintDocument(JSON.stringify(buildManagementDocument({ version: '1', url: 'https://control.example.org' }))),
    []
  )
})
