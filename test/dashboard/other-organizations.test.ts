import { test } from 'tap'
import type { Role } from '../../src/config/actor.js'
import type { Page } from '../harness/dashboard.js'
import { createSignedInVisitor, type Visitor } from '../harness/dashboard.js'
import { listDashboardRoutes, type DashboardRoute } from '../harness/dashboard-routes.js'
import { dumpControlDatabase } from '../harness/dump.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'

/** What belongs to one organization, by the names that routes have for it. */
type Ids = Readonly<Record<'tenantId' | 'keyId' | 'memberId' | 'invitationId' | 'tokenId' | 'webhookId', string>>

const neverWere: Ids = {
  tenantId: 'org-neverneverneverneverneverne',
  keyId: 'key-neverneverneverneverneverne',
  memberId: 'mem-neverneverneverneverneverne',
  invitationId: 'inv-neverneverneverneverneverne',
  tokenId: 'tok-neverneverneverneverneverne',
  webhookId: 'whk_neverneverneverneverneveraa'
}

/** Routes with something else than an id in them: what they open is known only to whom it was given. */
const byLink = /^\/dashboard\/(invitations\/:token|account\/sessions\/:\w+)(\/|$)/

test('every id in a path is one that the probes know, but for the links of invitations', async t => {
  const { control } = await startGateway(t)
  const names = (await listDashboardRoutes(control))
    .filter(({ path }) => !byLink.test(path))
    .flatMap(({ path }) => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!))
  t.ok(names.length > 20)
  t.same([...new Set(names)].filter(name => !(name in neverWere)), [])
})

for (const role of ['admin', 'viewer'] as const) {
  test(`${role}s of another organization learn nothing and change nothing on any page: foreign ids are as unknown ones`, async t => {
    const gateway = await startGateway(t)
    const { control } = gateway
    const others = await createRecords(gateway)
    const stranger = await createSignedInVisitor(gateway, { role, tenantId: await gateway.createOrganization() })
    const csrf = await stranger.fetchToken()
    const probes = (await listDashboardRoutes(control)).filter(({ path }) => path.includes(':') && !byLink.test(path))
    t.ok(probes.length > 20)
    for (const route of probes) {
      const before = dumpControlDatabase(gateway)
      const real = await sendProbe(stranger, { route, ids: others, csrf })
      const never = await sendProbe(stranger, { route, ids: neverWere, csrf })
      t.equal(real.status, 404, `${route.method} ${route.path}`)
      t.same(normalizePage(real), normalizePage(never), `${route.method} ${route.path}: the same answer`)
      t.same(dumpControlDatabase(gateway), before, `${route.method} ${route.path}: nothing changed`)
    }
  })
}

test('the probes are real: the organization\'s own admin is let through with the same ids', async t => {
  const gateway = await startGateway(t)
  const probes = (await listDashboardRoutes(gateway.control)).filter(
    ({ path }) => path.includes(':') && !byLink.test(path)
  )
  for (const route of probes) {
    const ids = await createRecords(gateway)
    const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId: ids.tenantId })
    const { status } = await sendProbe(admin, { route, ids, csrf: await admin.fetchToken() })
    const isOperatorsOwn = route.method === 'POST' && route.path === '/dashboard/organizations/:tenantId'
    t.ok(
      isOperatorsOwn ? status === 403 : [200, 201, 303, 409].includes(status),
      `${route.method} ${route.path}: ${status}`
    )
  }
})

test('pages of the service as a whole are forbidden to all but operators', async t => {
  const gateway = await startGateway(t)
  const ids = await createRecords(gateway)
  const operatorsOwn = (await listDashboardRoutes(gateway.control)).filter(({ path }) =>
    /^\/dashboard\/(organizations$|organizations\/new|operators|tokens$|audit$|gateways)/.test(path)
  )
  t.ok(operatorsOwn.length >= 8)
  for (const role of ['admin', 'viewer'] as const) {
    const member = await createSignedInVisitor(gateway, { role, tenantId: ids.tenantId })
    const csrf = await member.fetchToken()
    for (const route of operatorsOwn) {
      const before = dumpControlDatabase(gateway)
      const { status, headers } = await sendProbe(member, { route, ids, csrf })
      const isList = route.method === 'GET' && route.path === '/dashboard/organizations'
      if (isList) t.equal(headers.location, `/dashboard/organizations/${ids.tenantId}`)
      else t.equal(status, 403, `${role}: ${route.method} ${route.path}`)
      t.same(dumpControlDatabase(gateway), before)
    }
  }
})

test('a viewer sees every page of the organization, no form on it, and is forbidden every change', async t => {
  const gateway = await startGateway(t)
  const ids = await createRecords(gateway)
  const viewer = await createSignedInVisitor(gateway, { role: 'viewer', tenantId: ids.tenantId })
  const csrf = await viewer.fetchToken()
  const own = (await listDashboardRoutes(gateway.control)).filter(({ path }) => path.includes(':') && !byLink.test(path))
  for (const route of own) {
    const before = dumpControlDatabase(gateway)
    const { status, html, headers } = await sendProbe(viewer, { route, ids, csrf })
    const isForm = route.method === 'GET' && /\/(new|rename|roll|revoke|remove|role|password)$/.test(route.path)
    t.equal(status, route.method === 'POST' || isForm ? 403 : 200, `${route.method} ${route.path}`)
    // A download has no links at all.
    if (!headers['content-disposition']) {
      t.same(
        [...html.matchAll(/<form[^>]*action="([^"]*)"/g)].map(([, action]) => action),
        ['/dashboard/sign-out'],
        `${route.path}: no form`
      )
    }
    t.same(
      [...html.matchAll(/href="([^"]*\/(?:new|rename|roll|revoke|remove|role|password))"/g)],
      [],
      `${route.path}: no way to one`
    )
    t.same(dumpControlDatabase(gateway), before, `${route.method} ${route.path}: nothing changed`)
  }
})

test('every page for members redirects an anonymous visitor to the sign-in, whatever the id', async t => {
  const gateway = await startGateway(t)
  const ids = await createRecords(gateway)
  const { control } = gateway
  const probes = (await listDashboardRoutes(control)).filter(({ path }) => path.includes(':') && !byLink.test(path))
  for (const { method, path } of probes) {
    const before = dumpControlDatabase(gateway)
    const response = await gateway.inject({
      method,
      url: fillPath(path, ids),
      ...(method === 'POST' ? { headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: '' } : {})
    })
    t.equal(response.statusCode, 303, `${method} ${path}`)
    t.match(response.headers.location, /^\/dashboard\/sign-in/)
    t.same(dumpControlDatabase(gateway), before)
  }
})

/** An organization that has one of everything. */
async function createRecords ({ control, createOrganization }: TestGateway): Promise<Ids> {
  const tenantId = await createOrganization()
  const { keyId } = await control.keys.create({ tenantId, mode: 'live', name: 'a key' }, 'test')
  const role: Role = 'viewer'
  const { memberId } = await control.members.upsertFromProvider({
    issuer: 'https://login.example.org',
    subject: keyId,
    email: 'ann@example.org',
    name: 'Ann',
    role,
    tenantId
  })
  const { invitationId } = await control.invitations.create({ tenantId, email: 'bob@example.org', role }, 'test')
  const { tokenId } = await control.tokens.create({ tenantId, name: 'a token', role }, 'test')
  const { id: webhookId } = await control.webhooks.create(
    { url: 'https://files.example.org/a', enabled: false },
    { tenantId, mode: 'test', by: 'test' }
  )
  return { tenantId, keyId, memberId, invitationId, tokenId, webhookId }
}

interface Probe { readonly route: DashboardRoute, readonly ids: Ids, readonly csrf: string }

/** Sends the request as a browser would, with a form that is valid for every route. */
async function sendProbe (visitor: Visitor, { route: { method, path }, ids, csrf }: Probe): Promise<Page> {
  const url = fillPath(path, ids)
  if (method === 'GET') return await visitor.get(url)
  return await visitor.send(url, {
    _csrf: csrf,
    once: createIdempotencyToken(),
    name: 'changed',
    plan: 'pro',
    email: 'eve@example.org',
    role: 'viewer',
    mode: 'test',
    scopes: '*',
    overlap: '1h',
    lastDay: '2199-01-31',
    overage: 'off',
    datastore: '',
    url: 'https://files.example.org/b',
    types: '*',
    since: '2030-01-01'
  })
}

function fillPath (path: string, ids: Ids): string {
  return path.replace(/:(\w+)/g, (_, name: keyof Ids) => ids[name])
}

/** All of a response that a person could compare; the token in the sign-out form is different each time. */
function normalizePage ({ status, html, headers }: Page): unknown {
  const {
    date,
    'x-request-id': id,
    'x-timestamp': time,
    'content-length': length,
    'set-cookie': cookie,
    ...others
  } = headers
  return { status, html: html.replace(/(name="_csrf" value=")[^"]*/g, '$1'), others, cookie: cookie !== undefined }
}
