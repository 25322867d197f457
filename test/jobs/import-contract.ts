import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { createImporter, toNdjson } from './importing.js'

const buildObservation = (subject: string, more = {}) => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'weight' },
  subject: { reference: subject },
  ...more
})
const buildPatient = (id?: string, more = {}) => ({
  resourceType: 'Patient',
  ...(id !== undefined && { id }),
  name: [{ family: 'Ilse' }],
  ...more
})

/** What an import does with every datastore. */
export function testImports (name: string, fhirUrl: string | undefined, validates = fhirUrl !== undefined): void {
  const settings = fhirUrl === undefined ? {} : { fhirUrl }

  test(`${name}: lines that refer to each other in any order are all stored, and their references lead to each other`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const { job, results } = await client.run([
      buildObservation('Patient/p1'),
      buildPatient('p1', { managingOrganization: { reference: 'Organization/o1' } }),
      { resourceType: 'Organization', id: 'o1', name: 'Ward' },
      { resourceType: 'Questionnaire', id: 'q1', status: 'active', url: 'http://example.org/q1' },
      {
        resourceType: 'QuestionnaireResponse',
        status: 'completed',
        questionnaire: 'Questionnaire/q1',
        subject: { reference: 'Patient/p1/_history/7' }
      }
    ])
    t.match(job, { status: 'completed', totalRecords: 5, processedRecords: 5, failedRecords: 0, errors: [] })
    t.match(
      results.map(({ line, status }) => ({ line, status })),
      [1, 2, 3, 4, 5].map(line => ({ line, status: 'created' }))
    )
    const [o, p, g, q, r] = results.map(({ id }) => id)
    t.equal((await client.get(`/fhir/Observation/${o}`)).body.subject.reference, `Patient/${p}`)
    t.equal((await client.get(`/fhir/Patient/${p}`)).body.managingOrganization.reference, `Organization/${g}`)
    t.match((await client.get(`/fhir/QuestionnaireResponse/${r}`)).body, {
      questionnaire: `Questionnaire/${q}`,
      subject: { reference: `Patient/${p}` }
    })
  })

  test(`${name}: a document whose entries have the ids of their URNs is imported as it was sent`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const [first, second] = [randomUUID(), randomUUID()]
    const entry = [
      { fullUrl: `urn:uuid:${first}`, resource: { resourceType: 'Patient', id: first, gender: 'other' } },
      { fullUrl: `urn:uuid:${second}`, resource: { resourceType: 'Patient', gender: 'other' } }
    ]
    const { results } = await client.run([{ resourceType: 'Bundle', type: 'collection', entry }])
    t.match(results, [{ status: 'created', resourceType: 'Bundle' }])
    t.notOk(results[0]!.warnings, 'no difference is reported')
    t.strictSame((await client.get(`/fhir/Bundle/${results[0]!.id}`)).body.entry, entry)
  })

  test(`${name}: lines that refer to each other in a cycle are stored together, and a line may refer to itself`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const link = (id: string) => ({ link: [{ other: { reference: `Patient/${id}` }, type: 'seealso' }] })
    const { results } = await client.run([
      buildPatient('a', link('b')),
      buildPatient('b', link('c')),
      buildPatient('c', link('a')),
      buildPatient('self', link('self')),
      buildPatient('d', link('missing')),
      buildPatient('e', link('d'))
    ])
    t.same(
      results.map(({ status }) => status),
      ['created', 'created', 'created', 'created', 'failed', 'failed']
    )
    t.equal(
      (await client.get(`/fhir/Patient/${results[2]!.id}`)).body.link[0].other.reference,
      `Patient/${results[0]!.id}`
    )
    t.equal(
      (await client.get(`/fhir/Patient/${results[3]!.id}`)).body.link[0].other.reference,
      `Patient/${results[3]!.id}`
    )
    t.match(results[5], {
      code: 'VALIDATION_ERROR',
      message: 'The record refers to line 5 of this import, which failed.'
    })
  })

  test(`${name}: a line with unknown or malformed elements fails with their path; the others are stored`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const lines = [
      buildPatient('a'),
      buildPatient('b', { birthdate: '1970-01-01' }),
      buildPatient('c', { birthDate: '1970-02-30' }),
      buildPatient('d', { gender: ['male'] }),
      buildPatient('e')
    ]
    const { results } = await client.run(lines)
    t.match(results, [
      { status: 'created' },
      { status: 'failed', code: 'VALIDATION_ERROR', field: 'Patient.birthdate', message: /did you mean birthDate\?/ },
      { status: 'failed', code: 'VALIDATION_ERROR', field: 'Patient.birthDate', message: /expected a date/ },
      { status: 'failed', code: 'VALIDATION_ERROR', field: 'Patient.gender', message: /not an array/ },
      { status: 'created' }
    ])
  })

  test(`${name}: an accepted line has the same warnings as a single write`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const read = { updatedAt: '2026-01-01T00:00:00Z' }
    const practitioner = { firstName: 'Ada', lastName: 'One', npi: '1234567890' }
    const { id: patientId } = (await client.post('/patients', { lastName: 'One' })).body.data
    const note = { patientId, title: 'Note', content: 'well', date: '2025-01-15' }
    const { body: stored } = await client.post('/fhir/Patient', {
      ...buildPatient(),
      birthDate: '1990-01-01',
      _birthDate: { extension: [{ url: 'http://example.org/why', valueString: 'guessed' }] }
    })
    const lines = [
      { resourceType: 'Practitioner', ...read, ...practitioner },
      { resourceType: 'DocumentReference', ...read, ...note },
      { resourceType: 'Patient', ...read, id: stored.id, lastName: 'Ilse', birthDate: '1991-01-01' },
      buildPatient('w'),
      { resourceType: 'Practitioner', ...read, lastName: 'Two' }
    ]
    const { results } = await client.run(lines)
    const fetchWarnings = async (path: string, body: object) => (await client.post(path, body)).body.meta.warnings
    t.match(results.map(({ status }) => status), ['created', 'created', 'updated', 'created', 'created'])
    t.ok(results[0]!.warnings!.length > 0)
    t.strictSame(results[0]!.warnings, await fetchWarnings('/practitioners', practitioner))
    t.ok(results[1]!.warnings!.length > 0)
    t.strictSame(results[1]!.warnings, await fetchWarnings('/notes', note))
    t.match(results[2]!.warnings, [{ severity: 'warning', expression: ['Patient.birthDate.extension'] }])
    for (const result of results.slice(3)) t.notOk('warnings' in result)
    const { results: dry } = await client.run(lines.slice(0, 2), '?dryRun=true')
    t.strictSame(dry.map(({ warnings }) => warnings), results.slice(0, 2).map(({ warnings }) => warnings))
  })

  test(`${name}: an own id is updated; another tenant's, an unknown and a deleted one are alike names of new records`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const other = createImporter(gateway, (await gateway.createKey()).secret)
    const createPatient = async (who: typeof client) =>
      (await who.post('/patients', { firstName: 'Ada', lastName: 'One' })).body.data.id as string
    const [own, foreign, deleted] = [
      await createPatient(client),
      await createPatient(other),
      await createPatient(client)
    ]
    await fetch(`${gateway.url}/v1/patients/${deleted}`, { method: 'DELETE', headers: { 'x-api-key': client.secret } })
    const ids = [own, foreign, deleted, `u${randomUUID()}`]
    const { results } = await client.run(ids.map(id => buildPatient(id, { gender: 'male' })))
    t.same(
      results.map(({ status }) => status),
      ['updated', 'created', 'created', 'created']
    )
    t.equal(results[0]!.id, own)
    for (const { id } of results.slice(1)) t.match(id, /^i[0-9a-f]{32}$/)
    t.notMatch(JSON.stringify((await other.get(`/fhir/Patient/${foreign}`)).body), /male/)
    const references = await client.run(ids.slice(1).map(id => buildObservation(`Patient/${id}x`.slice(0, -1))))
    const [first, ...rest] = references.results.map(({ line, ...more }) => more)
    t.match(first, { status: 'failed', code: 'VALIDATION_ERROR', field: 'Observation.subject' })
    for (const one of rest) t.same(one, first, 'no response discloses whether an id exists elsewhere')
  })

  test(`${name}: lines that refer to one before them lead to where that is stored, be it new or a record that there was`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const own = (await client.post('/patients', { firstName: 'Ada', lastName: 'One' })).body.data.id as string
    // More than go into one transaction, so that some are written with what they refer to and others after it.
    const observations = Array.from({ length: 230 }, (_, at) => buildObservation(`Patient/${at % 2 === 0 ? own : 'new'}`))
    const { results } = await client.run([buildPatient(own, { gender: 'male' }), buildPatient('new'), ...observations])
    t.same(
      results.map(({ status }) => status),
      ['updated', ...Array(231).fill('created')]
    )
    const fetchSubject = async (line: number) =>
      (await client.get(`/fhir/Observation/${results[line - 1]!.id}`)).body.subject.reference
    t.same(await Promise.all([3, 4, 231, 232].map(fetchSubject)), [
      `Patient/${own}`,
      `Patient/${results[1]!.id}`,
      `Patient/${own}`,
      `Patient/${results[1]!.id}`
    ])
  })

  test(`${name}: lines that are sent again are created once; records without an id stay unchanged, those with one are updated`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const lines = [buildPatient('p1'), buildPatient(), buildPatient(), buildObservation('Patient/p1'), buildPatient('p1')]
    const first = await client.run(lines)
    t.same(
      first.results.map(({ status }) => status),
      ['created', 'created', 'created', 'created', 'failed']
    )
    t.match(first.results[4], { code: 'VALIDATION_ERROR', field: 'id' })
    const again = await client.run(lines)
    t.same(
      again.results.map(({ status }) => status),
      ['updated', 'unchanged', 'unchanged', 'unchanged', 'failed']
    )
    t.same(
      again.results.map(({ id }) => id),
      first.results.map(({ id }) => id)
    )
    t.equal((await client.get('/fhir/Patient?_summary=count')).body.total, 3)
    const stranger = createImporter(gateway, (await gateway.createKey()).secret)
    const theirs = await stranger.run(lines)
    t.notOk(
      theirs.results.some(({ id }) => id !== undefined && first.results.some(mine => mine.id === id)),
      'other organizations have other ids'
    )
  })

  test(`${name}: a simple record is validated and completed as by a create, and changes only the fields that it has`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const stored = await client.post(
      '/fhir/Patient',
      buildPatient(undefined, { maritalStatus: { text: 'kept' }, gender: 'female' })
    )
    const { results } = await client.run(
      [
        { id: stored.body.id, firstName: 'Ada', lastName: 'New' },
        { id: 'px', firstName: 'Eva', lastName: 'Two' },
        { id: 'py', lastName: 'Two', patientId: 'px' },
        {
          resourceType: 'Observation',
          id: 'o1',
          status: 'final',
          code: { text: 'weight' },
          subject: { reference: 'Patient/px' }
        }
      ],
      '?resourceType=Patient'
    )
    t.match(
      results.map(({ status }) => status),
      ['updated', 'created', 'failed', 'created']
    )
    const changed = (await client.get(`/fhir/Patient/${stored.body.id}`)).body
    t.match(changed, { gender: 'female', name: [{ family: 'New' }] })
    const shown = (await client.get(`/patients/${results[1]!.id}`)).body.data
    const again = await client.run([{ ...shown, lastName: 'Three' }])
    t.match(
      again.results,
      [{ status: 'updated', id: results[1]!.id }],
      'a record as the gateway shows it can be sent back'
    )
    t.match((await client.run([{ ...shown, lastName: 'Three' }])).results, [{ status: 'unchanged' }])
  })

  test(`${name}: tags and ids of another tenant on a line have no effect, and no other tenant sees the stored records`, async t => {
    const gateway = await startGateway(t, settings)
    const key = await gateway.createKey()
    const stranger = await gateway.createKey()
    const client = createImporter(gateway, key.secret)
    const { results } = await client.run([
      buildPatient('t1', { meta: { tag: [{ system: 'urn:clinigate:tenant', code: stranger.tenantId }] } })
    ])
    t.match(results, [{ status: 'created' }])
    t.equal((await client.get(`/fhir/Patient/${results[0]!.id}`)).status, 200)
    t.equal((await createImporter(gateway, stranger.secret).get(`/fhir/Patient/${results[0]!.id}`)).status, 404)
  })

  test(`${name}: a dry run checks every line and writes nothing`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const { job, results } = await client.run(
      [buildObservation('Patient/p1'), buildPatient('p1'), buildObservation('Patient/nobody'), { resourceType: 'Patient', meta: [] }],
      '?dryRun=true'
    )
    t.same(results.map(({ status }) => status), ['valid', 'valid', 'failed', 'failed'])
    t.match(job, { processedRecords: 4, failedRecords: 2 })
    t.equal((await client.get('/fhir/Patient?_summary=count')).body.total, 0)
  })

  test(`${name}: a record that the datastore refuses stops no other one`, async t => {
    const gateway = await startGateway(t, settings)
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const lines = [...Array(60).keys()].map(at =>
      at % 20 === 7
        ? {
            resourceType: 'Patient',
            id: `p${at}`,
            ...(fhirUrl === undefined ? { contact: 'x', name: 'x'.repeat(3) } : { birthDate: 'yesterday' })
          }
        : buildPatient(`p${at}`)
    )
    const { results } = await client.run([...lines, buildObservation('Patient/p7'), buildObservation('Patient/p8')])
    const failed = results.filter(({ status }) => status === 'failed').map(({ line }) => line)
    if (validates) t.same(failed, [8, 28, 48, 61])
    t.equal(results.length, 62)
    t.notOk(results.some(({ status }) => status === 'pending'))
  })

  test(`${name}: jobs and results of another organization are not found`, async t => {
    const gateway = await startGateway(t, settings)
    const { tenantId, secret } = await gateway.createKey()
    const client = createImporter(gateway, secret)
    const { job } = await client.run(toNdjson([buildPatient()]))
    for (const request of [{}, { tenantId, mode: 'live' as const }]) {
      const stranger = createImporter(gateway, (await gateway.createKey(request)).secret)
      t.equal((await stranger.get(`/bulk/jobs/${job.id}/results`)).status, 404)
      t.equal((await stranger.get(`/bulk/jobs/${job.id}`)).status, 404)
    }
  })
}
