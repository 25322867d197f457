import fc from 'fast-check'
import type { Test } from 'tap'
import {
  parseVersionedId, assertRejected, buildObservation, buildPatient, storeResources, type Fhir, type World
} from './fixture.js'

const buildUrn = (n: number) => `urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e${n}`

/**
 * A document of which every reference leads to one of its own entries, or to what the entry contains:
 * http://hl7.org/fhir/R4/documents.html
 */
const buildDocument = (subject = buildUrn(1)) => ({
  resourceType: 'Bundle',
  type: 'document',
  identifier: { system: 'urn:ietf:rfc:3986', value: buildUrn(9) },
  timestamp: '2026-03-14T09:30:00Z',
  entry: [
    {
      fullUrl: buildUrn(0),
      resource: {
        resourceType: 'Composition',
        status: 'final',
        type: { text: 'Summary' },
        date: '2026-03-14',
        author: [{ reference: '#author' }],
        title: 'Summary',
        subject: { reference: buildUrn(1) },
        contained: [{ resourceType: 'Practitioner', id: 'author', name: [{ family: 'Grey' }] }],
        section: [{ title: 'Results', entry: [{ reference: buildUrn(2) }] }]
      }
    },
    { fullUrl: buildUrn(1), resource: buildPatient() },
    { fullUrl: buildUrn(2), resource: buildObservation(subject) }
  ]
})

/** References within a stored Bundle are no concern of the datastore's. */
export async function testStoredBundles (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [[own], [foreign]] = [await storeResources(fhir, buildPatient()), await storeResources(other, buildPatient())]
  for (const document of [buildDocument(), { ...buildDocument(), type: 'collection' }, buildDocument(`Patient/${own}`)]) {
    const made = await fhir.send('POST', '/Bundle', document)
    t.equal(made.status, 201, made.text)
    const { resource } = await fhir.send('GET', `/Bundle/${parseVersionedId(made.headers.location!)}`)
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
    buildUrn(3),
    `http://other.example/fhir/Patient/${own}`
  ]) {
    assertRejected(
      t,
      await fhir.send('POST', '/Bundle', buildDocument(subject)),
      { status: 422, code: 'business-rule', expression: ['Bundle.entry[2].resource.subject'] },
      subject
    )
  }
  const [composition, ...others] = buildDocument().entry
  const first = { fullUrl: 'Composition/1', resource: { ...composition!.resource, id: '1' } }
  const relative = { ...buildDocument(), entry: [first, ...others] }
  assertRejected(
    t,
    await fhir.send('POST', '/Bundle', relative),
    { status: 422, expression: ['Bundle.entry[0].fullUrl'], diagnostics: /absolute URL, such as urn:uuid/ },
    'a fullUrl that is no URL is called that, and no reference to another organization'
  )
  await t.test('a document whose entries have the ids of their URNs comes back with and without them as it was sent', async t =>
    testIdsOfUrns(t, await join())
  )
  await t.test('a stored Bundle is returned as it was sent, or is refused by path before anything is stored', async t =>
    testRoundTrip(t, await join())
  )
}

/** The form of HL7's examples of International Patient Summaries, next to an entry without an id. */
async function testIdsOfUrns (t: Test, fhir: Fhir): Promise<void> {
  const document = buildDocument()
  const [composition, patient, observation] = document.entry
  const withId = (entry: any) => ({ ...entry, resource: { ...entry.resource, id: entry.fullUrl.slice('urn:uuid:'.length) } })
  const reviewed = { url: 'http://example.org/reviewed', valueBoolean: true }
  const sent = { ...document, entry: [withId(composition), patient, { extension: [reviewed], ...withId(observation) }] }
  const assertSame = (found: any, message: string): void => {
    // The order of members has no meaning, and a datastore decides it.
    t.strictSame(found?.entry, sent.entry, message)
    t.notMatch(JSON.stringify(found), 'entry-id', `${message} without what the datastore stores for it`)
  }
  const created = await fhir.send('POST', '/Bundle', sent)
  t.equal(created.status, 201, created.text)
  t.notOk(JSON.parse(created.text).meta?.warnings, 'no difference is reported')
  assertSame(created.resource, 'create')
  const path = `/Bundle/${created.resource.id}`
  const read = await fhir.send('GET', path)
  assertSame(read.resource, 'read')
  assertSame((await fhir.send('GET', `${path}/_history/${read.resource.meta.versionId}`)).resource, 'version')
  assertSame((await fhir.send('GET', '/Bundle?type=document')).resource.entry[0].resource, 'search')
  const patched = await fhir.send('PATCH', path, [{ op: 'replace', path: '/timestamp', value: '2026-03-15T09:30:00Z' }], {
    'content-type': 'application/json-patch+json'
  })
  t.equal(patched.status, 200, patched.text)
  assertSame(patched.resource, 'patch')
  const updated = await fhir.send('PUT', path, { ...sent, id: created.resource.id })
  t.equal(updated.status, 200, updated.text)
  assertSame(updated.resource, 'update')
  const history = (await fhir.send('GET', `${path}/_history`)).resource.entry
  t.equal(history.length, 3)
  for (const { resource } of history) assertSame(resource, 'history')
  const transaction = await fhir.send('POST', '', {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { resource: sent, request: { method: 'POST', url: 'Bundle' } },
      { resource: { ...sent, id: created.resource.id }, request: { method: 'PUT', url: path.slice(1) } }
    ]
  }, { prefer: 'return=representation' })
  t.equal(transaction.status, 200, transaction.text)
  for (const { resource, response } of transaction.resource.entry ?? []) {
    assertSame(resource, 'response to a transaction')
    t.notMatch(JSON.stringify(response), 'warning', 'no difference is reported')
  }
  const [, , { resource: { id: _, ...withoutId } }] = sent.entry as [any, any, any]
  const removed = await fhir.send('PUT', path, { ...document, id: created.resource.id })
  t.strictSame(removed.resource.entry[2].resource, withoutId, 'an id that an update leaves out is gone')
  for (const [refused, diagnostics, expression] of [
    [
      { ...sent, signature: { type: [{ system: 'urn:iso-astm:E1762-95:2013', code: '1' }], when: '2026-03-14T09:30:00Z', who: { display: 'A. Grey' } } },
      /sign it without the ids/,
      ['Bundle.entry[0].resource.id', 'Bundle.entry[2].resource.id']
    ],
    ...['urn:clinigate:entry-id', ' urn:clinigate:entry-id\t'].map(url => [
      { ...document, entry: [{ extension: [{ url, valueId: '1' }], ...composition }, patient, observation] },
      /the gateway's own/,
      undefined
    ] as const)
  ] as const) {
    const response = await fhir.send('POST', '/Bundle', refused)
    t.equal(response.status, 422, response.text)
    t.match(response.resource.issue[0].diagnostics, diagnostics)
    t.strictSame(response.resource.issue.flatMap(({ expression = [] }: any) => expression), expression ?? [])
  }
  t.equal((await fhir.send('DELETE', path)).status, 204)
}

/** What HAPI reads ids out of, and what it does not. */
const anyFullUrl = fc.oneof(
  fc.constant(undefined),
  fc
    .tuple(
      fc.constantFrom('', 'urn:', 'urn:uuid:', 'urn:oid:', 'resource:', 'http://a.example/', 'http://ehr.example.com/fhir/', '/', 'HTTPS://b/', 'ftp://c/', 'file:///', 'cid:', '#'),
      fc.constantFrom('', 'Patient/', 'patient/', 'Observation/', 'x/', 'a b/', 'Patient?identifier='),
      fc.constantFrom('', '0', '1102', 'a.b', 'a_b', '0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0', '1'.repeat(65)),
      fc.constantFrom('', '/_history/2', '#p', '?x=/Patient/5', '|1', '/')
    )
    .map(parts => parts.join(''))
)
const anyIdOfEntry = fc.constantFrom(undefined, '0', '1102', 'a.b', '0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0')

async function testRoundTrip (t: Test, fhir: Fhir): Promise<void> {
  let accepted = 0
  const store = async (entries: object[]): Promise<void> => {
    const response = await fhir.send('POST', '/Bundle', { resourceType: 'Bundle', type: 'collection', entry: entries })
    if (response.status !== 201) {
      const paths = response.resource.issue.map(({ expression }: any) => expression[0])
      const isOfEntry = (path: string): boolean => /^Bundle\.entry\[\d\]\.(?:fullUrl|resource|resource\.id|resource\.parameter\[0\]\.resource)$/.test(path)
      t.notMatch(response.text, /would drop it/, 'no id is refused that the fullUrl has')
      if (response.status === 422 && paths.every(isOfEntry)) return
      throw new Error(`${response.status} ${response.text}`)
    }
    accepted++
    const { entry } = (await fhir.send('GET', `/Bundle/${parseVersionedId(response.headers.location!)}`)).resource
    if (JSON.stringify(entry) !== JSON.stringify(entries)) throw new Error(`stored as ${JSON.stringify(entry)}`)
  }
  const entries = fc.array(
    fc
      .record({ fullUrl: anyFullUrl, id: anyIdOfEntry, isEmpty: fc.boolean(), isInner: fc.boolean() })
      .map(({ fullUrl, id, isEmpty, isInner }) => {
        const resource = {
          resourceType: 'Patient',
          ...(id !== undefined && { id }),
          ...(!isEmpty && { gender: 'other' })
        }
        return {
          ...(fullUrl !== undefined && { fullUrl }),
          resource: isInner ? { resourceType: 'Parameters', parameter: [{ name: 'a', resource }] } : resource
        }
      }),
    { minLength: 1, maxLength: 2 }
  )
  await fc.assert(fc.asyncProperty(entries, store), { numRuns: 60, seed: 7, endOnFailure: true })
  t.equal((await fhir.send('GET', '/Bundle?_summary=count')).resource.total, accepted, 'nothing else was stored')
  t.ok(accepted > 10, `${accepted} are stored`)
  for (const [entry, diagnostics, path] of [
    [{ fullUrl: 'resource:0', resource: buildPatient() }, /send an id here too/, 'resource.id'],
    [{ resource: { resourceType: 'Patient' } }, /drops a resource without content/, 'resource']
  ] as const) {
    assertRejected(
      t,
      await fhir.send('POST', '/Bundle', { resourceType: 'Bundle', type: 'collection', entry: [entry] }),
      { status: 422, diagnostics, expression: [`Bundle.entry[0].${path}`] },
      path
    )
  }
}
