import { test } from 'tap'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

const titleOf = ({ html }: { readonly html: string }): string => /<title>(.*)<\/title>/.exec(html)![1]!

test('the title of a page names its organization, and says first that a form was refused', async t => {
  const gateway = await startGateway(t)
  const { tenantId } = await gateway.control.organizations.create({ name: 'Clinic', plan: 'pro' }, 'test')
  const operator = await signedIn(gateway, { role: 'operator' })
  const path = `/dashboard/organizations/${tenantId}`
  t.equal(titleOf(await operator.get(path)), 'Overview · Clinic · clinigate')
  t.equal(titleOf(await operator.get(`${path}/keys`)), 'Keys · Clinic · clinigate')
  t.equal(titleOf(await operator.get('/dashboard/tokens')), 'Tokens · clinigate')
  t.equal(titleOf(await operator.post(`${path}/keys/new`, { name: ' ' })), 'Error: New key · Clinic · clinigate')
})
