import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { fhirBase, linkTo, openWorld, pagesOf, patient, stored } from '../passthrough/fixture.js'

// A client that keeps the link to ask again got all versions, and all that is about the patient, instead.
t.test('the link of a history or of $everything to itself has what was asked', async t => {
  const world = await openWorld(t, { url: realBackend().url, server: 'hapi' })
  const fhir = await world.fhir()
  const [id] = await stored(fhir, patient())
  await fhir.send('PUT', `/Patient/${id}`, patient({ id, active: true }))
  for (const requested of [
    '_history',
    '_history?_since=2020-01-01T00%3A00%3A00Z&_count=5',
    '$everything',
    '$everything?_type=Patient&_count=5'
  ]) {
    t.equal(
      linkTo(await fhir.send('GET', `/Patient/${id}/${requested}`), 'self'),
      `${fhirBase}/Patient/${id}/${requested}`
    )
  }
  const [first, second] = await pagesOf(fhir, `/Patient/${id}/_history?_count=1`)
  t.equal(linkTo(second!, 'self'), linkTo(first!, 'next'))
})
