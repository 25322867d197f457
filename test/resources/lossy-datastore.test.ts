import t from 'tap'
import {
  buildBundle, buildEntry, parseVersionedId, patchType, buildPatient, createFhirSender
} from '../passthrough/fixture.js'
import { createImporter } from '../jobs/importing.js'
import { startGateway } from '../harness/gateway.js'
import { startWatched } from '../harness/recording-backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { startMeasured } from '../metrics/scrape.js'

/** A datastore that drops the marital status of each record, and responds 201. */
const drop = (body: string): string => body.replaceAll(/,?"maritalStatus":\{[^{}]*\}/g, '')
const married = { maritalStatus: { text: 'secretly married' } }
const path = 'Patient.maritalStatus'

await t.test('a datastore that drops content silently', async t => {
  const sandbox = await startTestSandbox(t)
  const lossy = await startWatched(sandbox.url, drop)
  t.teardown(() => lossy.close())
  const gateway = await startMeasured(t, { fhirUrl: lossy.url })
  const { secret } = await gateway.createKey()
  const fhir = { secret, send: createFhirSender(gateway, secret) }
  const sendSimple = async (
    method: string,
    url: string,
    body: object,
    headers: Readonly<Record<string, string>> = {}
  ) => {
    const response = await gateway.inject({
      method: method as 'POST',
      url: `/v1/${url}`,
      headers: { 'x-api-key': fhir.secret, 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(body)
    })
    return { status: response.statusCode, ...response.json() }
  }
  const person = { firstName: 'Ada', lastName: 'Byron' }

  await t.test('a create in the simple form warns of it with the path, also when it is repeated', async t => {
    const send = async () =>
      await sendSimple('POST', 'patients', { ...person, maritalStatus: 'M' }, { 'idempotency-key': 'one' })
    const first = await send()
    t.equal(first.status, 201)
    t.strictSame(first.meta.warnings.map((warning: any) => [warning.severity, warning.expression]), [
      ['warning', [path]]
    ])
    const again = await send()
    t.strictSame([again.data, again.meta.warnings], [first.data, first.meta.warnings])
    t.equal((await sendSimple('POST', 'patients', person)).meta.warnings, undefined)
  })

  await t.test('a change in the simple form warns of it next to its own warnings, also when it is repeated', async t => {
    const { resource: { id } } = await fhir.send('POST', '/Patient', {
      ...buildPatient(),
      birthDate: '1990-01-01',
      _birthDate: { extension: [{ url: 'http://example.org/why', valueString: 'guessed' }] }
    })
    const send = async () =>
      await sendSimple('PATCH', `patients/${id}`, { maritalStatus: 'M', birthDate: '1991-01-01' }, {
        'idempotency-key': 'two'
      })
    const first = await send()
    t.strictSame(first.meta.warnings.map((warning: any) => warning.expression[0]), ['Patient.birthDate.extension', path])
    t.strictSame((await send()).meta.warnings, first.meta.warnings)
  })

  await t.test('a line of an import names the lost parts of its record', async t => {
    const importing = await startGateway(t, { fhirUrl: lossy.url })
    const client = createImporter(importing, (await importing.createKey()).secret)
    const { results } = await client.run([buildPatient(married), buildPatient()])
    t.match(results[0], { status: 'created', warnings: [{ severity: 'warning', expression: [path] }] })
    t.notOk('warnings' in results[1]!)
  })

  await t.test('raw FHIR names the paths in the OperationOutcome that a client prefers, also of a repetition', async t => {
    const preferred = { prefer: 'return=OperationOutcome' }
    const listPaths = ({ resource }: any) => resource.issue.flatMap(({ expression = [] }: any) => expression)
    const create = async () =>
      await fhir.send('POST', '/Patient', buildPatient(married), { ...preferred, 'idempotency-key': 'three' })
    const made = await create()
    t.strictSame([made.status, listPaths(made)], [201, [path]])
    t.strictSame((await create()).text, made.text)
    const id = parseVersionedId(made.headers.location!)
    const updated = await fhir.send('PUT', `/Patient/${id}`, { ...buildPatient(married), id }, preferred)
    t.strictSame(updated.resource.issue.map((issue: any) => [issue.severity, issue.expression]), [
      ['information', undefined],
      ['information', [path]]
    ])
    const change = [{ op: 'add', path: '/maritalStatus', value: married.maritalStatus }]
    t.strictSame(listPaths(await fhir.send('PATCH', `/Patient/${id}`, change, { ...patchType, ...preferred })), [path])
    const plain = await fhir.send('POST', '/Patient', buildPatient(), preferred)
    t.strictSame([plain.status, listPaths(plain)], [201, []])
  })

  await t.test('each entry of a transaction or batch names its lost parts, and placeholders are not among them', async t => {
    const fullUrl = 'urn:uuid:0d9ab3b5-5f4b-4b0e-9d36-2a6d4c1c8f11'
    const observation = {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      subject: { reference: fullUrl }
    }
    const { resource } = await fhir.send(
      'POST',
      '',
      buildBundle(
        'transaction',
        buildEntry('POST', 'Patient', buildPatient(married), { fullUrl }),
        buildEntry('POST', 'Observation', observation)
      )
    )
    t.strictSame(
      resource.entry.map(({ response }: any) => response.outcome?.issue.map((issue: any) => issue.expression)),
      [[[path]], undefined]
    )
    const batch = await fhir.send('POST', '', buildBundle('batch', buildEntry('POST', 'Patient', buildPatient(married))))
    t.strictSame(batch.resource.entry[0].response.outcome.issue[0].expression, [path])
  })

  await t.test('a conditional create that finds a record does not report differences from the body', async t => {
    const identifier = [{ system: 'http://example.org/mrn', value: '1' }]
    const ifNoneExist = 'identifier=http://example.org/mrn|1'
    const headers = { 'if-none-exist': ifNoneExist, prefer: 'return=OperationOutcome' }
    const made = await fhir.send('POST', '/Patient', buildPatient({ identifier, ...married }), headers)
    t.strictSame([made.status, made.resource.issue.length], [201, 2])
    const found = await fhir.send('POST', '/Patient', buildPatient({ identifier, ...married, active: true }), headers)
    t.strictSame([found.status, found.resource.issue.length], [200, 1])
    const { resource } = await fhir.send(
      'POST',
      '',
      buildBundle('transaction', buildEntry('POST', 'Patient', buildPatient({ identifier, ...married }), { ifNoneExist }))
    )
    t.strictSame([resource.entry[0].response.status, resource.entry[0].response.outcome], ['200 OK', undefined])
  })

  await t.test('the log has the paths and no value, and the metric counts the records', async t => {
    const lines = gateway.logged().filter(({ msg }) => msg === 'a datastore stored a record differently than it was sent')
    t.ok(lines.length > 5)
    t.strictSame(lines[0]!.paths, [path])
    t.equal((await gateway.scrape()).value('clinigate_stored_differences_total', { type: 'Patient' }), lines.length)
    t.notMatch(JSON.stringify(lines), /secretly|Byron|urn:uuid/)
  })
})
