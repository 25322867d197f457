import t from 'tap'
import { applyPatch } from '../../src/envelope/json-patch.js'
import { appointments } from '../../src/mappings/resources/appointments.js'
import { documents } from '../../src/mappings/resources/documents.js'
import { encounters } from '../../src/mappings/resources/encounters.js'
import { startGateway } from '../harness/gateway.js'

// An object with a member toString of its own cannot become a text: where one was made of it the client got 500.
const noText = { toString: 1, valueOf: 1 }

t.test('what stands where a text should is refused as any other mistake', async t => {
  const { inject, createKey } = await startGateway(t)
  const headers = {
    'x-api-key': (await createKey()).secret,
    'content-type': 'application/fhir+json',
    prefer: 'respond-async'
  }
  const parameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter })
  const resource = { name: 'resource', resource: { resourceType: 'Patient' } }
  const format = { name: 'inputFormat', valueCode: 'application/fhir+ndjson' }
  for (const value of [noText, [noText]]) {
    const bodies = [
      ['Patient/$validate', parameters(resource, { name: value, valueCode: 'create' })],
      ['Patient/$validate', parameters(resource, { name: 'mode', valueCode: value })],
      ['$import', parameters({ ...format, name: value })],
      ['$import', parameters({ ...format, valueCode: value })],
      ['$import', parameters(format, { name: 'storageDetail', part: [{ name: value }] })]
    ] as const
    for (const [path, payload] of bodies) {
      const { statusCode } = await inject({ method: 'POST', url: `/v1/fhir/${path}`, headers, payload })
      t.ok(statusCode === 400 || statusCode === 422, `${path} ${JSON.stringify(payload)}`)
    }
    t.throws(() => applyPatch([{ op: value, path: '/a', value: 1 }], {}), { code: 'BAD_REQUEST' })
  }
})

t.test('a stored record in which it stands is shown without it', async t => {
  for (const value of [noText, [noText]]) {
    t.match(
      appointments.toSimple({
        resourceType: 'Appointment',
        status: 'booked',
        participant: [{ actor: { reference: value } }, { actor: { reference: 'Patient/1' } }]
      } as never),
      { status: 'booked', patientId: '1' }
    )
    t.match(
      encounters.toSimple({
        resourceType: 'Encounter',
        status: 'planned',
        participant: [{ individual: { reference: value } }],
        length: { value: 1, code: value }
      } as never),
      { status: 'planned' }
    )
  }
})

// A Narrative's entity was looked up among what every object inherits, and the text of a function came in its place.
t.test('an entity named like a member that every object has is shown as it is', async t => {
  const div = '<div xmlns="http://www.w3.org/1999/xhtml">&constructor; &amp; &toString;</div>'
  t.match(
    documents.toSimple({ resourceType: 'Composition', section: [{ text: { status: 'additional', div } }] } as never),
    { sections: [{ text: '&constructor; & &toString;' }] }
  )
})
