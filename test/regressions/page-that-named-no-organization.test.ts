import { test } from 'tap'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('every page of an organization says which one it is, once, to its people as to operators', async t => {
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
    const person = await signedIn(gateway, { role, ...(role === 'admin' ? { tenantId } : {}) })
    for (const path of pages) {
      const { html } = await person.get(`/dashboard/${path}`)
      const [head, main] = html.split('<main')
      t.match(head, /<p class="organization-name">Clinic &amp; Söhne<\/p>/, `${role}: ${path}`)
      t.notMatch(/<h1>[^]*<\/h1>/.exec(main!)?.[0], /Clinic/, `${role}: ${path}`)
    }
  }
})
