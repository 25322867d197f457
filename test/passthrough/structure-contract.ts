import type { Test } from 'tap'
import {
  buildBundle, buildEntry, assertRejected, buildObservation, buildPatchEntry, patchType, buildPatient, storeResources,
  type World
} from './fixture.js'

/** Content that a lenient server would drop or change: http://hl7.org/fhir/R4/json.html */
export async function testStructure (t: Test, world: World): Promise<void> {
  await t.test('nothing of a record is dropped: elements that R4 does not have are refused with their path', t =>
    testUnknownElements(t, world)
  )
  await t.test('the same holds for entries of a Bundle and for results of a patch', t => testEntriesAndPatches(t, world))
  await t.test('an error of the datastore is explained where the structure is wrong', t => testDiagnostics(t, world))
  await t.test('$validate reports the same', t => testValidate(t, world))
}

const misspelt = {
  code: 'structure',
  diagnostics: /^Patient\.birthdate: .*birthDate/,
  expression: ['Patient.birthdate']
}

async function testUnknownElements (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient({ birthDate: '1970-01-01' }))
  assertRejected(
    t,
    await fhir.send('POST', '/Patient', buildPatient({ birthdate: '1970-01-01' })),
    { status: 422, ...misspelt },
    'a create'
  )
  assertRejected(
    t,
    await fhir.send('PUT', `/Patient/${id}`, buildPatient({ id, birthdate: '1970-01-02' })),
    { status: 422, ...misspelt },
    'an update'
  )
  assertRejected(
    t,
    await fhir.send('PUT', '/Patient?identifier=urn:x|1', buildPatient({ birthdate: '1970-01-02' })),
    { status: 422, ...misspelt },
    'an update by criteria'
  )
  assertRejected(
    t,
    await fhir.send('POST', '/Patient', buildPatient({ birthdate: '1970-01-01' }), {
      'if-none-exist': 'identifier=urn:x|1'
    }),
    { status: 422, ...misspelt },
    'a create by criteria'
  )
  const both = await fhir.send('POST', '/Patient', buildPatient({ birthdate: '1970-01-01', gender: ['male', 'female'] }))
  t.strictSame(
    both.resource.issue.map(({ expression }: any) => expression),
    [['Patient.birthdate'], ['Patient.gender']],
    'all faults are reported at once'
  )
  t.match(
    await fhir.send('GET', `/Patient/${id}`),
    { resource: { birthDate: '1970-01-01', meta: { versionId: '1' } } },
    'nothing was changed'
  )
}

async function testEntriesAndPatches (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const wrong = [{ op: 'add', path: '/birthdate', value: '1970-01-01' }]
  assertRejected(t, await fhir.send('PATCH', `/Patient/${id}`, wrong, patchType), { status: 422, ...misspelt }, 'a patch')
  const inEntry = { status: 422, code: 'structure', expression: ['Bundle.entry[1].resource.birthdate'] }
  for (const invalid of [
    buildEntry('POST', 'Patient', buildPatient({ birthdate: '1970-01-01' })),
    buildEntry('PUT', `Patient/${id}`, buildPatient({ id, birthdate: '1970-01-01' })),
    buildPatchEntry(`Patient/${id}`, wrong)
  ]) {
    assertRejected(
      t,
      await fhir.send('POST', '', buildBundle('transaction', buildEntry('POST', 'Patient', buildPatient()), invalid)),
      inEntry,
      'an entry of a transaction'
    )
    const { resource } = await fhir.send('POST', '', buildBundle('batch', buildEntry('GET', `Patient/${id}`), invalid))
    t.match(
      resource.entry[1].response,
      { status: /^422/, outcome: { issue: [{ code: 'structure', expression: [/birthdate$/] }] } },
      'an entry of a batch'
    )
  }
  t.match(await fhir.send('GET', '/Patient?_summary=count'), { resource: { total: 1 } }, 'nothing was stored')
}

async function testDiagnostics (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const noDay = {
    status: 422,
    code: 'structure',
    diagnostics: /^Patient\.birthDate: expected a date/,
    expression: ['Patient.birthDate']
  }
  assertRejected(t, await fhir.send('POST', '/Patient', buildPatient({ birthDate: '1970-02-30' })), noDay, 'a create')
  assertRejected(t, await fhir.send('PUT', `/Patient/${id}`, buildPatient({ id, birthDate: '30.1.1970' })), noDay, 'an update')
  assertRejected(
    t,
    await fhir.send('POST', '/Patient', buildPatient({ birthDate: ' 1970-01-30' })),
    noDay,
    'HAPI fails over a day with a space before it'
  )
  assertRejected(
    t,
    await fhir.send(
      'POST',
      '',
      buildBundle(
        'transaction',
        buildEntry('POST', 'Patient', buildPatient()),
        buildEntry('POST', 'Observation', buildObservation(`Patient/${id}`, { valueInteger: 1.5 }))
      )
    ),
    {
      status: 422,
      code: 'structure',
      diagnostics: /^Observation\.valueInteger: expected a whole number/,
      expression: ['Bundle.entry[1].resource.valueInteger']
    },
    'an entry'
  )
  t.match(await fhir.send('GET', '/Patient?_summary=count'), { resource: { total: 1 } }, 'nothing was stored')
}

async function testValidate (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join({ scopes: ['read'] })
  t.match(await send('POST', '/Patient/$validate', buildPatient({ birthdate: '1970-01-01' })), {
    status: 200,
    resource: { resourceType: 'OperationOutcome', issue: [{ severity: 'error', ...misspelt }] }
  })
}
