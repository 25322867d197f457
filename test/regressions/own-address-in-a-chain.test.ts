import t from 'tap'
import { readSearch } from '../../src/api/passthrough/search-request.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { fhirBase, isRefused, listed, observation, openWorld, patient, stored } from '../passthrough/fixture.js'

const organization = { resourceType: 'Organization', name: 'Ward' }

// Only the search's own parameters were read with the address of this gateway; a condition behind a reference found
// nothing, in silence.
t.test('the condition of a chain or _has may name a record by its address', async t => {
  const sandbox = await startTestSandbox(t)
  const fhir = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const [ward] = await stored(fhir, organization)
  const [ada] = await stored(fhir, patient({ managingOrganization: { reference: `Organization/${ward}` } }))
  const [weight] = await stored(fhir, observation(`Patient/${ada}`))
  const found = async (query: string) => listed(await fhir.send('GET', `/${query}`))
  for (const base of ['', `${fhirBase}/`]) {
    t.strictSame(
      await found(`Observation?subject:Patient.organization=${base}Organization/${ward}`),
      [`Observation/${weight}`],
      base
    )
    t.strictSame(
      await found(`Observation?subject:Patient.organization=Organization/nobody,${base}Organization/${ward}`),
      [`Observation/${weight}`],
      base
    )
    t.strictSame(
      await found(`Patient?_has:Observation:subject:subject=${base}Patient/${ada}`),
      [`Patient/${ada}`],
      base
    )
  }
  isRefused(
    t,
    await fhir.send('GET', '/Observation?subject:Patient.organization=http://other.example/Organization/1'),
    400,
    'an address elsewhere, as without a chain'
  )
})

t.test('where a record\'s address would mean another thing for each type, one has to be named', async t => {
  const read = (name: string) =>
    readSearch('ImagingStudy', { query: [[name, `${fhirBase}/Practitioner/1`]], isLenient: false, fhirBase })
  t.throws(
    () => read('basedon.performer'),
    { code: 'BAD_REQUEST', message: /name one type/ },
    'the performer of a Task is a code'
  )
  t.match(read('basedon:ServiceRequest.performer').joins, [
    { types: ['ServiceRequest'], condition: ['performer', 'Practitioner/1'] }
  ])
})
