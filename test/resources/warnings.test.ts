import t from 'tap'
import { startGateway } from '../harness/gateway.js'

t.test('who writes an observation without a time is told in meta.warnings, and it is stored', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const send = async (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object, headers = {}) =>
    (
      await inject({
        method,
        url: `/v1/${path}`,
        headers: { 'x-api-key': secret, 'content-type': 'application/json', ...headers },
        ...(payload && { payload })
      })
    ).json()
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
  t.strictSame(
    (await send('POST', 'observations', pulse, { 'idempotency-key': 'a-first-pulse' })).meta.warnings,
    warnings,
    'also when the first answer is given again'
  )
  t.notOk('warnings' in (await send('GET', `observations/${id}`)).meta, 'a reader is not')
  t.strictSame((await send('PATCH', `observations/${id}`, { valueInteger: 71 })).meta.warnings, warnings)

  t.notOk('warnings' in (await send('PATCH', `observations/${id}`, { effectiveDateTime: '2026-03-14' })).meta)
  t.notOk(
    'warnings' in (await send('POST', 'observations', { ...pulse, effectivePeriod: { start: '2026-03-14' } })).meta
  )
  t.notOk(
    'warnings' in (await send('POST', 'observations', { ...pulse, valueInteger: 'x' })).meta,
    'nor who was refused'
  )
})

t.test('who changes a record with a narrative is told that it was kept, and one who reads it is not', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const send = async (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object, type = 'application/json') =>
    (
      await inject({
        method,
        url: `/v1/${path}`,
        headers: { 'x-api-key': secret, 'content-type': type },
        ...(payload && { payload })
      })
    ).json()
  const storedWith = async (status: string): Promise<string> =>
    (
      await send(
        'POST',
        'fhir/Patient',
        {
          resourceType: 'Patient',
          text: { status, div: '<div xmlns="http://www.w3.org/1999/xhtml">Ada Byron</div>' },
          name: [{ family: 'Byron', given: ['Ada'] }]
        },
        'application/fhir+json'
      )
    ).id
  const id = await storedWith('generated')
  const { data, meta } = await send('PATCH', `patients/${id}`, { lastName: 'Lovelace' })
  t.equal(data.lastName, 'Lovelace')
  t.match(meta.warnings, [
    {
      severity: 'warning',
      expression: ['text'],
      diagnostics: /^text: the narrative .* was not changed; .* replace it in raw FHIR$/
    }
  ])
  t.match((await send('GET', `fhir/Patient/${id}`)).text.div, /Ada Byron/)
  t.notOk('warnings' in (await send('GET', `patients/${id}`)).meta)
  t.notOk(
    'warnings' in (await send('PATCH', `patients/${await storedWith('empty')}`, { lastName: 'Lovelace' })).meta,
    'one that says nothing'
  )
})

t.test('who writes that a patient died before being born is told, and it is stored', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const warnedOf = async (birthDate: string, deceased: string | boolean) => {
    const { data, meta } = (
      await inject({
        method: 'POST',
        url: '/v1/patients',
        headers: { 'x-api-key': secret },
        payload: { firstName: 'Ada', lastName: 'Byron', birthDate, deceased }
      })
    ).json()
    t.equal(data.deceased, deceased)
    return (meta.warnings ?? []).flatMap(({ expression }: { expression: string[] }) => expression)
  }
  t.strictSame(await warnedOf('1990-03', '1980-01-01'), ['birthDate', 'deceased'])
  t.strictSame(await warnedOf('1990-03', '1990'), [])
  t.strictSame(await warnedOf('1990-03-14', true), [])
})
