import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { realBackend } from '../harness/backend.js'
import { observation, openWorld, patient, stored } from '../passthrough/fixture.js'

// R4: text, id, meta and the mandatory elements at the top. A read gave the text alone, which a client's parser
// refuses.
t.test('_summary=text has the mandatory elements, on a read as in a search', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  for (const { url, server } of [
    { url: realBackend().url, server: 'hapi' },
    { url: sandbox.url, server: 'sandbox' }
  ] as const) {
    const fhir = await (await openWorld(t, { url, server })).fhir()
    const [id] = await stored(fhir, patient())
    const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }
    const request = {
      resourceType: 'MedicationRequest',
      text,
      status: 'active',
      intent: 'order',
      medicationCodeableConcept: { text: 'm' },
      subject: { reference: `Patient/${id}` },
      authoredOn: '2026-01-01'
    }
    const [observed, requested] = await stored(fhir, observation(`Patient/${id}`, { text, valueString: 'v' }), request)
    for (const [place, elements] of [
      [`Observation/${observed}`, ['code', 'status', 'text']],
      [`MedicationRequest/${requested}`, ['intent', 'medicationCodeableConcept', 'status', 'subject', 'text']]
    ] as const) {
      const read = await fhir.send('GET', `/${place}?_summary=text`)
      const found = await fhir.send('GET', `/${place.replace('/', '?_id=')}&_summary=text`)
      for (const resource of [read.resource, found.resource.entry[0].resource]) {
        t.strictSame(
          Object.keys(resource)
            .filter(name => !['resourceType', 'id', 'meta'].includes(name))
            .sort(),
          elements,
          `${server}: ${place}`
        )
      }
    }
  }
})
