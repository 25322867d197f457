import t, { type Test } from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { printJson } from '../../src/json/json.js'
import { requireRealBackend } from '../harness/backend.js'
import { createGatewayClient, unlimitedPlans } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { Bodies, replaceWithRecords } from '../resources/bodies.js'
import { makeWorld } from '../resources/fixture.js'
import {
  buildBundle, buildEntry, formType, buildObservation, openWorld, buildPatchEntry, patchType, buildPatient, type Fhir
} from '../passthrough/fixture.js'
import { startValidator, type ValidationIssue } from './validator.js'

t.setTimeout(600_000)
const validator = await startValidator()
t.teardown(() => validator.stop())

/** Warnings by the validator's name for them, each with the first place where it occurred. */
const warnings = new Map<string, string>()
t.teardown(() => {
  for (const [code, first] of [...warnings].sort()) t.comment(`warning ${code}, first: ${first}`)
})

/** Errors that the validator reports for generated records alone, by its names for them, with the reason. */
const validatorsOwn: ReadonlyArray<{ readonly code: RegExp, readonly message?: RegExp, readonly reason: string }> = [
  {
    code: /^Terminology_/,
    reason: 'generated codes are of no code system, and R4 has no list of currencies'
  },
  { code: /^Type_Specific_Checks_DT_Time_Valid$/, reason: 'R4 allows 04:44:23.5, the validator wants three digits' },
  { code: /#rng-2$/, message: /Cannot invoke/, reason: 'it fails where low has no unit and high has one' }
]

/**
 * Requires that the validator finds no error in a resource, but for known ones of its own.
 * @param known those of generated records; responses have none
 */
async function requireValid (t: Test, name: string, text: string, known: typeof validatorsOwn = []): Promise<void> {
  const issues = await validator.validate(text)
  const isKnown = ({ code, message }: ValidationIssue): boolean =>
    known.some(own => own.code.test(code) && (own.message?.test(message) ?? true))
  for (const issue of issues) {
    const { severity, code, location, message } = issue
    if ((severity === 'warning' || isKnown(issue)) && !warnings.has(code)) {
      warnings.set(code, `${name}: ${location}: ${message}`)
    }
  }
  const errors = issues.filter(issue => ['error', 'fatal'].includes(issue.severity) && !isKnown(issue))
  t.strictSame(errors.map(({ code, location, message }) => `${code}: ${location}: ${message}`), [], name)
}

t.test('the validator finds an existing error', async t => {
  const issues = await validator.validate('{"resourceType":"Patient","gender":"nonsense"}')
  t.ok(issues.some(({ severity, location }) => severity === 'error' && location === 'Patient.gender'))
})

t.test('each simple resource is stored as valid FHIR, with the required fields alone and with all fields', async t => {
  t.setTimeout(600_000)
  const { url: fhirUrl } = await startTestSandbox(t)
  const client = await createGatewayClient(await startGateway(t, { fhirUrl, plans: unlimitedPlans }))
  const server = createFhirClient(fhirUrl)
  const world = await makeWorld(server, client.tenantId)
  for (const mapping of mappings) {
    const bodies = new Bodies(mapping, replaceWithRecords(world))
    for (const [i, body] of [bodies.buildMinimal(), ...bodies.buildFull()].entries()) {
      const { status, data, text } = await client.send('POST', mapping.path, body)
      if (status !== 201) throw new Error(`${mapping.path}: ${text}`)
      const stored = printJson(await server.read(mapping.type, data.id))
      await requireValid(t, `${mapping.path} ${i}`, stored, validatorsOwn)
    }
  }
})

t.test('each response of raw FHIR is valid FHIR', async t => {
  t.setTimeout(600_000)
  const { fhir: join } = await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })
  const own = await join()
  const other = await join()
  let refused = 0
  /** The response to a request, found valid. */
  const sendAndValidate = async (...[method, path, body, headers]: Parameters<Fhir['send']>): Promise<any> => {
    const { status, text, resource } = await own.send(method, path, body, headers)
    if (status >= 400) refused++
    if (text !== '') await requireValid(t, `${method} ${path}: ${status}`, text)
    return resource
  }
  const { id } = await sendAndValidate('POST', '/Patient', buildPatient({ gender: 'female', birthDate: '1815-12-10' }))
  const { id: measured } = await sendAndValidate('POST', '/Observation', buildObservation(`Patient/${id}`))
  const foreign = (await other.send('POST', '/Patient', buildPatient())).resource.id

  await sendAndValidate('GET', `/Patient/${id}`)
  await sendAndValidate('PUT', `/Patient/${id}`, buildPatient({ id, gender: 'other' }))
  await sendAndValidate('PATCH', `/Patient/${id}`, [{ op: 'add', path: '/active', value: true }], patchType)
  await sendAndValidate('GET', `/Patient/${id}/_history`)
  await sendAndValidate('GET', `/Patient/${id}/_history?_count=1`)
  await sendAndValidate('GET', `/Patient/${id}/_history/1`)
  await sendAndValidate('GET', `/Patient/${id}/$everything`)
  await sendAndValidate('POST', '/Patient/$validate', buildPatient({ gender: 'female' }))
  for (const query of [
    '', '?_count=1', '?_count=0', '?_summary=count', '?_summary=true', '?_elements=name', '?_total=accurate', '?family=nobody',
    '?_revinclude=Observation:subject', '?_has:Observation:patient:code=29463-7', '?_include=Observation:subject'
  ]) {
    const found = await sendAndValidate('GET', `/Patient${query}`)
    const next = found.link?.find(({ relation }: any) => relation === 'next')?.url
    if (next !== undefined) await sendAndValidate('GET', next)
  }
  await sendAndValidate('GET', '/Observation?_include=Observation:subject&_include=Observation:performer')
  await sendAndValidate('GET', '/Observation?subject:Patient.family=Byron')
  await sendAndValidate('POST', '/Observation/_search', `patient=${id}`, formType)
  await sendAndValidate('GET', `/Patient/${id}/Observation`)
  const urn = 'urn:uuid:6b8f7a4e-9a40-4d0c-9bb2-4b0f4d5a3c11'
  await sendAndValidate('POST', '', buildBundle(
    'transaction',
    buildEntry('POST', 'Patient', buildPatient(), { fullUrl: urn }),
    buildEntry('POST', 'Observation', buildObservation(urn)),
    buildEntry('PUT', `Patient/${id}`, buildPatient({ id })),
    buildPatchEntry(`Patient/${id}`, [{ op: 'add', path: '/active', value: false }]),
    buildEntry('GET', `Observation/${measured}`),
    buildEntry('GET', 'Patient?family=Byron&_count=1')
  ))
  await sendAndValidate('POST', '', buildBundle(
    'batch',
    buildEntry('POST', 'Patient', buildPatient()),
    buildEntry('GET', `Patient/${id}`),
    buildEntry('GET', 'Patient?family=Byron'),
    buildEntry('GET', `Patient/${id}/_history`),
    buildEntry('GET', `Patient/${foreign}`),
    buildEntry('GET', 'Nonsense/1'),
    buildEntry('POST', 'Observation', buildObservation(`Patient/${foreign}`)),
    buildEntry('PUT', `Patient/${id}`, buildPatient({ id }), { ifMatch: 'W/"1"' }),
    buildEntry('DELETE', `Observation/${measured}`)
  ))
  await sendAndValidate('GET', '/metadata')

  refused = 0
  const kinds: ReadonlyArray<Parameters<Fhir['send']>> = [
    ['GET', `/Patient/${foreign}`],
    ['GET', '/Nonsense/1'],
    ['GET', '/Patient?nosuch=1'],
    ['GET', '/Patient?birthdate=nonsense'],
    ['GET', `/Observation/${measured}`],
    ['GET', '/Patient', undefined, { 'x-api-key': 'nonsense' }],
    ['GET', '/Patient', undefined, { accept: 'application/fhir+xml' }],
    ['POST', '/Patient', '{'],
    ['POST', '/Patient', { resourceType: 'Observation' }],
    ['POST', '/Patient', buildPatient({ nonsense: 1 })],
    ['POST', '/Patient', '<Patient/>', { 'content-type': 'application/fhir+xml' }],
    ['POST', '/Observation', buildObservation(`Patient/${foreign}`)],
    ['POST', '/Subscription', { resourceType: 'Subscription' }],
    ['PUT', `/Patient/${id}`, buildPatient({ id }), { 'if-match': 'W/"1"' }],
    ['PUT', '/Patient/never-stored', buildPatient({ id: 'never-stored' })],
    ['PATCH', `/Patient/${id}`, [{ op: 'remove', path: '/nonsense' }], patchType],
    ['DELETE', '/Patient'],
    ['POST', '', buildBundle('transaction', buildEntry('POST', 'Observation', buildObservation(`Patient/${foreign}`)))],
    ['POST', '', buildBundle('collection')],
    ['GET', `/Patient/${id}/$everything?start=2000-01-01`],
    ['GET', '/$export'],
    ['POST', '/$nonsense', {}],
    ['OPTIONS', '/Patient']
  ]
  for (const request of kinds) await sendAndValidate(...request)
  t.equal(refused, kinds.length, 'each of the last ones was refused')
})
