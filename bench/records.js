// The records that the benchmarks of requests read, create and change.

const buildCodeableConcept = (system, code, display) => ({ coding: [{ system, code, display }] })

const patient = {
  resourceType: 'Patient',
  name: [{ use: 'official', family: 'Byron', given: ['Ada', 'King'] }],
  telecom: [
    { system: 'email', value: 'ada@example.org' },
    { system: 'phone', value: '+44 20 7946 0000' }
  ],
  gender: 'female',
  birthDate: '1990-03-14',
  address: [{ line: ['1 Example Street'], city: 'London', postalCode: 'N1 9GU', country: 'GB' }],
  active: true,
  maritalStatus: buildCodeableConcept('http://terminology.hl7.org/CodeSystem/v3-MaritalStatus', 'M', 'Married')
}

const observation = {
  resourceType: 'Observation',
  status: 'final',
  code: { ...buildCodeableConcept('http://loinc.org', '8867-4', 'Heart rate'), text: 'Heart rate' },
  effectiveDateTime: '2026-03-14T09:30:00Z',
  valueQuantity: { value: 72, unit: 'beats/minute', system: 'http://unitsofmeasure.org', code: '/min' }
}

/** The content of a record of a type, without id and meta. */
export const getContent = type => type === 'Patient' ? patient : { resourceType: type }

let count = 0

/** A record that refers to two others, which no earlier request has named, so that a gateway looks them up. */
export function buildRecord () {
  count++
  return {
    ...observation,
    subject: { reference: `Patient/p${count}` },
    encounter: { reference: `Encounter/e${count}` }
  }
}

/** The same in the simple form. */
export function buildSimpleRecord () {
  count++
  return {
    status: 'final',
    code: 'Heart rate',
    effectiveDateTime: '2026-03-14T09:30:00Z',
    patientId: `p${count}`,
    encounterId: `e${count}`
  }
}

/** A change of one field, as JSON Patch. */
export const patch = [{ op: 'replace', path: '/birthDate', value: '1990-03-15' }]

const patientUrl = 'urn:uuid:6ba7b810-9dad-41d1-80b4-00c04fd430c8'

/** A patient and nineteen observations of that patient. */
export const transaction = {
  resourceType: 'Bundle',
  type: 'transaction',
  entry: [
    { fullUrl: patientUrl, resource: patient, request: { method: 'POST', url: 'Patient' } },
    ...Array.from({ length: 19 }, () => ({
      resource: { ...observation, subject: { reference: patientUrl } },
      request: { method: 'POST', url: 'Observation' }
    }))
  ]
}
