import { test } from 'tap'
import { createSignedInVisitor } from '../harness/dashboard.js'
import { listDashboardRoutes } from '../harness/dashboard-routes.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'

/** Ends every context in which a text can stand, and would run in each. */
const script = '</title></textarea>\'"><script>alert(1)</script><img src=x onerror=alert(1)>'
const email = '"><svg/onload=alert(1)>@example.org'

test('script in any text field is shown as text on every page', async t => {
  const gateway = await startGateway(t)
  const ids = await createScriptedOrganization(gateway)
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId: ids.tenantId, email, name: script })
  const operator = await createSignedInVisitor(gateway, { role: 'operator', email, name: script })
  const pages = (await listDashboardRoutes(gateway.control)).filter(
    ({ method, path }) =>
      method === 'GET' && !/:(?!tenantId|keyId|memberId|tokenId|webhookId)|assets|sign-in|choose-organization/.test(path)
  )
  t.ok(pages.length > 20)
  for (const { path } of pages) {
    const url = path.replace(/:(\w+)/g, (_, name: keyof typeof ids) => ids[name])
    for (const visitor of [admin, operator]) {
      const { html, status } = await visitor.get(
        `${url}?month=${encodeURIComponent(script)}&entity=${encodeURIComponent(script)}`
      )
      t.ok([200, 303, 403].includes(status), `${path}: ${status}`)
      t.same(findInjectedTags(html), [], path)
    }
    const { text, status, headers } = await operator.get(url)
    // A download is no page, and a bill contains no names.
    t.ok(
      status === 303 || headers['content-disposition'] || text.includes('<script>alert(1)</script>'),
      `${path} shows the text itself`
    )
  }
})

test('script in a submitted form is text on the resulting page, and on the next one', async t => {
  const gateway = await startGateway(t)
  const ids = await createScriptedOrganization(gateway)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const csrf = await operator.fetchToken()
  const posts = (await listDashboardRoutes(gateway.control)).filter(
    ({ method, path }) =>
      method === 'POST' &&
      !/:token|:invitationId|sign-|choose-|account|\/dashboard\/password/.test(path) &&
      !/members\/:memberId|webhooks\/:webhookId\/remove/.test(path)
  )
  t.ok(posts.length > 10)
  for (const { path } of posts) {
    const url = path.replace(/:(\w+)/g, (_, name: keyof typeof ids) => ids[name])
    for (const other of [script, undefined]) {
      const response = await operator.send(url, {
        _csrf: csrf,
        once: createIdempotencyToken(),
        name: script,
        email: `new${email}`,
        plan: other ?? 'pro',
        role: other ?? roleForPath(path),
        mode: other ?? 'test',
        scopes: other ?? '*',
        overlap: other ?? '1h',
        lastDay: other ?? '2199-01-31',
        datastore: other ?? '',
        url: other ?? 'https://files.example.org/b',
        types: other ?? '*',
        description: script,
        since: other ?? '2030-01-01'
      })
      t.ok([201, 303, 409, 422].includes(response.status), `${path}: ${response.status}`)
      const next = response.status === 303 ? await operator.get(String(response.headers.location)) : response
      t.same([...findInjectedTags(response.html), ...findInjectedTags(next.html)], [], path)
    }
  }
})

function roleForPath (path: string): string {
  return path === '/dashboard/tokens' ? 'gateway' : path.startsWith('/dashboard/operators') ? 'operator' : 'viewer'
}

/**
 * Tags and attributes that no page of ours has, as a browser would read them: what stands between quotes is a value,
 * whatever it says.
 */
function findInjectedTags (html: string): string[] {
  return [...html.matchAll(/<[a-z][^>"]*(?:"[^"]*"[^>"]*)*>/gi)]
    .map(([tag]) => tag.replace(/"[^"]*"/g, '""'))
    .filter(
      tag => /^<(img|svg\/|iframe)|\son\w+=|\/on/i.test(tag) || (/^<script/i.test(tag) && !tag.includes(' src="'))
    )
}

/** An organization whose every text is a script, and a gateway that calls itself one. */
async function createScriptedOrganization ({ control }: TestGateway) {
  const { tenantId } = await control.organizations.create({ name: script, plan: 'pro' }, script)
  const { keyId } = await control.keys.create({ tenantId, mode: 'live', name: script }, script)
  await control.invitations.create({ tenantId, email, role: 'admin' }, script)
  const { memberId } = await control.members.upsertFromProvider({
    issuer: 'https://login.example.org',
    subject: script,
    email,
    name: script,
    role: 'viewer',
    tenantId
  })
  await control.invitations.create({ email, role: 'operator' }, script)
  const { tokenId } = await control.tokens.create({ tenantId, name: script, role: 'viewer' }, script)
  await control.tokens.create({ name: script, role: 'gateway' }, script)
  await control.gateways.report({
    gatewayId: 'scripts',
    name: script,
    version: script,
    startedAt: new Date().toISOString(),
    position: { feedId: 'other', seq: 1 },
    checks: { [script]: 'ok' }
  })
  const owner = { tenantId, mode: 'test', by: script } as const
  const { id: webhookId } = await control.webhooks.create(
    { url: `https://files.example.org/?${script}`, description: script, enabled: false }, owner
  )
  await deliverScript(control, { webhookId, owner })
  return { tenantId, keyId, memberId, tokenId, webhookId }
}

/** A delivery whose receiver responded with a script. */
async function deliverScript (
  { webhooks, webhookQueue }: TestGateway['control'],
  { webhookId, owner }: { readonly webhookId: string, readonly owner: Parameters<typeof webhooks.test>[1] }
): Promise<void> {
  const event = { id: `evt_${'a'.repeat(26)}`, type: script, body: '', createdAt: '', sequence: 1, attempt: 1 }
  await webhookQueue.record({
    ...owner, lease: { webhookId, number: 0 }, url: '', secrets: [], retries: [], fresh: [], position: 0, through: 0, maxFailures: 0
  }, {
    attempts: [{
      event, outcome: 'failed', at: new Date().toISOString(), durationMs: 1, responseStatus: 410, responseText: script
    }],
    position: 0
  })
}
