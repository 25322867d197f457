import type { Test } from 'tap'
import { idIn, isRefused, observation, patient, stored, type World } from './fixture.js'

const urn = (n: number) => `urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e${n}`

/**
 * A document of which every reference leads to one of its own entries, or to what the entry contains:
 * http://hl7.org/fhir/R4/documents.html
 */
const documentOf = (subject = urn(1)) => ({
  resourceType: 'Bundle',
  type: 'document',
  identifier: { system: 'urn:ietf:rfc:3986', value: urn(9) },
  timestamp: '2026-03-14T09:30:00Z',
  entry: [
    {
      fullUrl: urn(0),
      resource: {
        resourceType: 'Composition',
        status: 'final',
        type: { text: 'Summary' },
        date: '2026-03-14',
        author: [{ reference: '#author' }],
        title: 'Summary',
        subject: { reference: urn(1) },
        contained: [{ resourceType: 'Practitioner', id: 'author', name: [{ family: 'Grey' }] }],
        section: [{ title: 'Results', entry: [{ reference: urn(2) }] }]
      }
    },
    { fullUrl: urn(1), resource: patient() },
    { fullUrl: urn(2), resource: observation(subject) }
  ]
})

/** What a stored Bundle says of its own entries is no affair of the datastore's. */
export async function storedBundlesContract (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [[own], [foreign]] = [await stored(fhir, patient()), await stored(other, patient())]
  for (const document of [documentOf(), { ...documentOf(), type: 'collection' }, documentOf(`Patient/${own}`)]) {
    const made = await fhir.send('POST', '/Bundle', document)
    t.equal(made.status, 201, made.text)
    const { resource } = await fhir.send('GET', `/Bundle/${idIn(made.headers.location!)}`)
    t.match(resource.entry, document.entry, 'it comes back as it was')
    const transaction = await fhir.send('POST', '', {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [{ resource: document, request: { method: 'POST', url: 'Bundle' } }]
    })
    t.equal(transaction.status, 200, transaction.text)
  }
  for (const subject of [
    `Patient/${foreign}`,
    'Patient/nobody',
    '#author',
    urn(3),
    `http://other.example/fhir/Patient/${own}`
  ]) {
    isRefused(
      t,
      await fhir.send('POST', '/Bundle', documentOf(subject)),
      { status: 422, code: 'business-rule', expression: ['Bundle.entry[2].resource.subject'] },
      subject
    )
  }
}
