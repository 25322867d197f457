import { test } from 'tap'
import { command } from '../cli/command.js'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('a good key is renamed in the dashboard, over the API and by command, and the audit trail says by whom', async t => {
  const gateway = await startGateway(t)
  const { tenantId, keyId, secret } = await gateway.createKey()
  const admin = await signedIn(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  const path = `/dashboard/keys/${keyId}`
  t.match((await admin.get(path)).html, `href="${path}/rename"`)
  t.match((await admin.get(`${path}/rename`)).html, /name="name" type="text" value="a test key"/)
  t.match(await admin.post(`${path}/rename`, { name: ' Intake form ' }), { status: 303, headers: { location: path } })
  t.match((await admin.get(path)).text, /Key renamed\. .*Intake form/)
  t.match(await gateway.control.auditTrail({ tenantId, entity: keyId, limit: 1 }), [
    { action: 'key changed', actor: /^member:ann@example\.org /, detail: { name: 'Intake form' } }
  ])
  t.match((await admin.get(`/dashboard/organizations/${tenantId}/audit`)).text, /changed a key name: Intake form/)

  const token = (await gateway.control.tokens.create({ role: 'operator', name: 'ci' }, 'test')).secret
  const patch = async (body: object) => {
    const response = await gateway.inject({
      method: 'PATCH',
      url: `/control/v1/keys/${keyId}`,
      headers: { authorization: `Bearer ${token}` },
      payload: body
    })
    return { status: response.statusCode, ...response.json() }
  }
  t.match(await patch({ name: 'Letters' }), { status: 200, data: { keyId, name: 'Letters', expiresAt: undefined } })
  t.match(await patch({ name: 'Letters', expiresAt: '2099-01-01T00:00:00Z' }), {
    status: 200,
    data: { expiresAt: '2099-01-01T00:00:00.000Z' }
  })
  t.match(await patch({ expiresAt: '2098-01-01T00:00:00Z' }), {
    status: 200,
    data: { name: 'Letters', expiresAt: '2098-01-01T00:00:00.000Z' }
  })
  t.match(await patch({}), { status: 422 })
  t.match(await patch({ name: 'a line\nand another' }), { status: 422, message: /all of them visible/ })

  const renamed = await command(
    { CONTROL_TOKEN: token, CONTROL_URL: gateway.url },
    'keys',
    'rename',
    keyId,
    '--name',
    'Reminders'
  )
  t.match(renamed, { code: 0, err: '' })
  t.match(JSON.parse(renamed.out), { keyId, name: 'Reminders', expiresAt: '2098-01-01T00:00:00.000Z' })
  await gateway.catchUp()
  t.equal(
    (await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).statusCode,
    200,
    'its secret works as before'
  )
})

test('a name that is refused stays in the form; a viewer renames nothing, nor does anybody a key that was revoked', async t => {
  const gateway = await startGateway(t)
  const { tenantId, keyId } = await gateway.createKey()
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  const viewer = await signedIn(gateway, { role: 'viewer', tenantId })
  const path = `/dashboard/keys/${keyId}`
  const refused = await admin.post(`${path}/rename`, { name: 'x'.repeat(201) })
  t.match(refused, { status: 422, text: /A name must have 1 to 200 characters/ })
  t.match(refused.html, `value="${'x'.repeat(201)}"`)
  t.notMatch((await viewer.get(path)).html, '/rename')
  t.match(
    [await viewer.get(`${path}/rename`), await viewer.post(`${path}/rename`, { name: 'mine' })],
    [{ status: 403 }, { status: 403 }]
  )
  await gateway.control.keys.revoke(keyId, 'test')
  t.notMatch((await admin.get(path)).html, '/rename')
  t.match(await admin.post(`${path}/rename`, { name: 'too late' }), { status: 409, text: /This key was revoked/ })
  t.equal((await gateway.control.keys.find(keyId)).name, 'a test key')
})
