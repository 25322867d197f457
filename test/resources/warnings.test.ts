import t, { type Test } from 'tap'
import { startGateway } from '../harness/gateway.js'

t.test('an observation without a time is stored with a warning in meta.warnings', async t => {
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

t.test('a change of a record with a narrative warns that it was preserved, and a read does not', async t => {
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
  const storePatient = async (status: string): Promise<string> =>
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
  const id = await storePatient('generated')
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
    'warnings' in (await send('PATCH', `patients/${await storePatient('empty')}`, { lastName: 'Lovelace' })).meta,
    'one that says nothing'
  )
})

t.test('a patient who died before being born is stored with a warning', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const createAndListWarnings = async (birthDate: string, deceased: string | boolean) => {
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
  t.strictSame(await createAndListWarnings('1990-03', '1980-01-01'), ['birthDate', 'deceased'])
  t.strictSame(await createAndListWarnings('1990-03', '1990'), [])
  t.strictSame(await createAndListWarnings('1990-03-14', true), [])
})

t.test('a patch of a code alone warns of the old text that stays with it', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const send = async (method: 'POST' | 'PATCH', path: string, payload: object) =>
    (await inject({ method, url: `/v1/${path}`, headers: { 'x-api-key': secret }, payload })).json()
  const { data: { id: patientId } } = await send('POST', 'patients', { lastName: 'Byron' })
  const system = 'http://snomed.info/sct'
  const code = { system, code: '91935009', display: 'Allergy to peanut' }
  const { data: { id } } = await send('POST', 'allergies', { patientId, code })
  const patch = async (...operations: object[]): Promise<string[]> => {
    const { meta: { warnings = [] } } = await send('PATCH', `allergies/${id}`, operations)
    return warnings
      .map(({ diagnostics }: { diagnostics: string }) => diagnostics)
      .filter((text: string) => text.includes('names what was there before'))
  }
  const replace = (path: string, value: unknown) => ({ op: 'replace', path, value })
  t.strictSame(await patch(replace('/code/code', '91934008')), [
    'code.display: names what was there before; the patch left it next to what is new'
  ])
  t.strictSame(await patch(replace('/code/code', '91936005'), replace('/code/display', 'Allergy to penicillin')), [])
  const remove = (path: string) => ({ op: 'remove', path })
  t.strictSame(await patch(replace('/code/code', '1'), remove('/code/display'), remove('/code/text')), [])
  t.strictSame(await patch(replace('/code', code)), [], 'not of what the patch itself wrote')
  t.strictSame(await patch(replace('/code', { ...code, code: '2' })), [], 'even if it is the same')
  const { data: { id: weight } } = await send('POST', 'observations', {
    patientId,
    code: 'weight',
    valueQuantity: { value: 70, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' },
    effectiveDateTime: '2026-03-14'
  })
  const { meta } = await send('PATCH', `observations/${weight}`, [replace('/valueQuantity/unit', 'lb')])
  t.match(meta.warnings, [{ expression: ['valueQuantity.code'], severity: 'warning' }], 'the code of another unit too')
})

/** Sends requests to a gateway of its own. @returns the bodies of the responses */
async function startClient (t: Test) {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  return async (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object) =>
    (await inject({
      method,
      url: `/v1/${path}`,
      headers: { 'x-api-key': secret, 'content-type': 'application/json' },
      ...payload && { payload }
    })).json()
}

/** The paths that a response warns of. */
const listWarnings = ({ meta: { warnings = [] } }: { meta: { warnings?: any[] } }) =>
  warnings.flatMap(({ expression }) => expression).sort()

t.test('a record that a modifier extension negates is not read without a warning', async t => {
  const send = await startClient(t)
  const negated = { modifierExtension: [{ url: 'http://example.org/not', valueBoolean: true }] }
  const { data: { id: patientId } } = await send('POST', 'patients', { lastName: 'Byron' })
  const condition = { resourceType: 'Condition', subject: { reference: `Patient/${patientId}` }, code: { text: 'gout' } }
  await send('POST', 'fhir/Condition', condition)
  const stage = [{ summary: { text: 'I' }, ...negated }]
  const { id } = await send('POST', 'fhir/Condition', { ...condition, ...negated, stage })
  t.strictSame(listWarnings(await send('GET', `conditions/${id}`)), [
    'Condition.modifierExtension', 'Condition.stage[0].modifierExtension'
  ])
  const page = await send('GET', 'conditions')
  const at = page.data.data.findIndex((record: { id: string }) => record.id === id)
  t.strictSame(listWarnings(page), [`data[${at}].modifierExtension`, `data[${at}].stage[0].modifierExtension`])
  const patched = await send('PATCH', `conditions/${id}`, { recordedDate: '2026-03-14' })
  t.strictSame(listWarnings(patched), ['Condition.modifierExtension', 'Condition.stage[0].modifierExtension'])
  t.strictSame(listWarnings(await send('GET', `patients/${patientId}?include=conditions`)), [
    `Condition/${id}.modifierExtension`, `Condition/${id}.stage[0].modifierExtension`
  ])
  t.strictSame(listWarnings(await send('GET', `patients/${patientId}`)), [])
})

t.test('a prescription of two dosages is not read as one of the first alone, nor an old address as the current one', async t => {
  const send = await startClient(t)
  const address = [{ use: 'old', city: 'Bern' }, { use: 'home', city: 'Basel' }]
  const patient = { resourceType: 'Patient', name: [{ family: 'Byron' }], address }
  const { id: patientId } = await send('POST', 'fhir/Patient', patient)
  const readWarnings = async (...dosageInstruction: object[]): Promise<string[]> => {
    const { id } = await send('POST', 'fhir/MedicationRequest', {
      resourceType: 'MedicationRequest',
      status: 'active',
      intent: 'order',
      medicationCodeableConcept: { text: 'aspirin' },
      subject: { reference: `Patient/${patientId}` },
      dosageInstruction
    })
    return listWarnings(await send('GET', `prescriptions/${id}`))
  }
  const buildDose = (value: number) => ({ doseQuantity: { value, unit: 'mg' } })
  const repeat = { frequency: 1, period: 1, periodUnit: 'd' }
  t.strictSame(await readWarnings({ text: 'at night', timing: { repeat }, doseAndRate: [buildDose(1)] }), [])
  t.strictSame(await readWarnings({ sequence: 1, text: '2 in the morning' }, { sequence: 2, text: '1 at night' }), [
    'MedicationRequest.dosageInstruction[1]'
  ])
  const limits = { timing: { repeat: { ...repeat, frequencyMax: 3 } }, doseAndRate: [buildDose(1), buildDose(2)] }
  t.strictSame(await readWarnings(limits), [
    'MedicationRequest.dosageInstruction[0].doseAndRate[1]',
    'MedicationRequest.dosageInstruction[0].timing.repeat.frequencyMax'
  ])
  t.equal(listWarnings(await send('GET', 'prescriptions')).length, 3, 'in a page too')
  t.strictSame(listWarnings(await send('GET', `patients/${patientId}`)), ['Patient.address[1]'])
  t.strictSame(listWarnings(await send('GET', 'patients')), ['data[0].address[1]'])
})
