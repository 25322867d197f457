import t from 'tap'
import { startGateway } from '../harness/gateway.js'

t.test('who writes an observation without a time is told in meta.warnings, and it is stored', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const send = async (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object, headers = {}) =>
    (await inject({ method, url: `/v1/${path}`, headers: { 'x-api-key': secret, 'content-type': 'application/json', ...headers }, ...payload && { payload } })).json()
  const { data: { id: patientId } } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const pulse = { patientId, code: 'pulse', valueInteger: 70 }

  const warnings = [{
    severity: 'warning',
    code: 'invariant',
    diagnostics: 'effectiveDateTime: give the clinically relevant time in this field or in effectivePeriod (US Core)',
    expression: ['effectiveDateTime']
  }]
  const { data: { id }, meta } = await send('POST', 'observations', pulse, { 'idempotency-key': 'a-first-pulse' })
  t.strictSame(meta.warnings, warnings)
  t.strictSame((await send('POST', 'observations', pulse, { 'idempotency-key': 'a-first-pulse' })).meta.warnings, warnings, 'also when the first answer is given again')
  t.notOk('warnings' in (await send('GET', `observations/${id}`)).meta, 'a reader is not')
  t.strictSame((await send('PATCH', `observations/${id}`, { valueInteger: 71 })).meta.warnings, warnings)

  t.notOk('warnings' in (await send('PATCH', `observations/${id}`, { effectiveDateTime: '2026-03-14' })).meta)
  t.notOk('warnings' in (await send('POST', 'observations', { ...pulse, effectivePeriod: { start: '2026-03-14' } })).meta)
  t.notOk('warnings' in (await send('POST', 'observations', { ...pulse, valueInteger: 'x' })).meta, 'nor who was refused')
})
