import t from 'tap'
import { parseTime } from '../../src/operator/cli/times.js'
import { ControlError } from '../../src/control-plane/store/control-error.js'
import { endOfLastDay } from '../../src/control-plane/dashboard/usage/last-day.js'
import { startGateway } from '../harness/gateway.js'

// The engine reads 31 February as 3 March, so a key lasted days longer than anyone had written.

const day = '2030-02-31'

t.test('the dashboard and the commands refuse it', async t => {
  t.throws(() => endOfLastDay(day), ControlError)
  t.strictSame(endOfLastDay('2028-02-29'), new Date('2028-03-01T00:00:00Z'))
  for (const text of [day, `${day}T00:00:00Z`]) t.throws(() => parseTime(text), { message: /2030-01-31T00:00:00Z/ })
})

t.test('the management API refuses it, and a time that no clock shows', async t => {
  const gateway = await startGateway(t)
  const { tenantId } = await gateway.control.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
  const { keyId } = await gateway.control.keys.create({ tenantId, mode: 'live', name: 'Intake' }, 'ann')
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'Deploy' }, 'ann')
  const send = async (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object) => {
    const { statusCode, json } = await gateway.inject({
      method,
      url: `/control/v1/${path}`,
      headers: { authorization: `Bearer ${secret}` },
      payload
    })
    return { status: statusCode, body: json() }
  }
  for (const expiresAt of [`${day}T00:00:00Z`, '2030-01-31T25:00:00Z', '2030-01-31']) {
    const refused = {
      status: 422,
      body: { code: 'VALIDATION_ERROR', issues: [{ expression: ['expiresAt'], diagnostics: /2030-01-31T00:00:00Z/ }] }
    }
    t.match(await send('PATCH', `keys/${keyId}`, { expiresAt }), refused)
    t.match(await send('POST', `organizations/${tenantId}/keys`, { name: 'Lab', mode: 'live', expiresAt }), refused)
    t.match(await send('GET', `organizations/${tenantId}/usage?from=2030-02-01T00:00:00Z&to=${expiresAt}`), {
      status: 400,
      body: { issues: [{ expression: ['to'] }] }
    })
  }
  t.equal((await gateway.control.keys.find(keyId)).expiresAt, undefined)
  t.equal((await gateway.control.keys.list(tenantId)).length, 1)
  t.match(await send('PATCH', `keys/${keyId}`, { expiresAt: '2030-01-31T00:00:00+01:00' }), { status: 200 })
})
