// The records that the benchmarks of bulk jobs move.

const tagOf = tenantId => ({ system: 'urn:clinigate:tenant', code: tenantId })

/** Records together: one patient and observations of that patient. */
const ofOnePatient = 10

/**
 * Records named after a series, each after the records it refers to; with the tag of a tenant where they belong to it
 * at once.
 */
export function * generateRecords (series, count, tenantId) {
  const meta = tenantId === undefined ? {} : { meta: { tag: [tagOf(tenantId)] } }
  for (let i = 0; i < count; i++) {
    const patient = `${series}-p${Math.floor(i / ofOnePatient)}`
    const record = i % ofOnePatient === 0 ? buildPatient(patient, i) : buildObservation(`${series}-o${i}`, patient, i)
    yield { ...record, ...meta }
  }
}

function buildPatient (id, i) {
  return {
    resourceType: 'Patient',
    id,
    identifier: [{ system: 'https://example.org/mrn', value: id }],
    name: [{ use: 'official', family: `Byron${i % 997}`, given: ['Ada', 'King'] }],
    telecom: [{ system: 'email', value: `ada${i}@example.org` }, { system: 'phone', value: '+44 20 7946 0000' }],
    gender: 'female',
    birthDate: `19${10 + i % 90}-03-14`,
    address: [{ line: [`${i % 211} Example Street`], city: 'London', postalCode: 'N1 9GU', country: 'GB' }],
    active: true
  }
}

function buildObservation (id, patient, i) {
  return {
    resourceType: 'Observation',
    id,
    status: 'final',
    category: [
      { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: 'vital-signs' }] }
    ],
    code: { coding: [{ system: 'http://loinc.org', code: '8867-4', display: 'Heart rate' }], text: 'Heart rate' },
    subject: { reference: `Patient/${patient}` },
    effectiveDateTime: `2026-0${1 + (i % 9)}-1${i % 9}T09:30:00Z`,
    valueQuantity: { value: 50 + (i % 70), unit: 'beats/minute', system: 'http://unitsofmeasure.org', code: '/min' }
  }
}

/** Records as lines, in chunks. */
export function * serializeLines (records) {
  let chunk = ''
  for (const record of records) {
    chunk += `${JSON.stringify(record)}\n`
    if (chunk.length < 65_536) continue
    yield Buffer.from(chunk)
    chunk = ''
  }
  yield Buffer.from(chunk)
}
