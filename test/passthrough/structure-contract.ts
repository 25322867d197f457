import type { Test } from 'tap'
import { bundle, entry, isRefused, observation, patchEntry, patchType, patient, stored, type World } from './fixture.js'

/** Content that a lenient server would drop or change: http://hl7.org/fhir/R4/json.html */
export async function structureContract (t: Test, world: World): Promise<void> {
  await t.test('nothing of a record is dropped: what R4 does not have is refused with its place', t =>
    refusesWhatWouldBeLost(t, world)
  )
  await t.test('so it is in entries of a Bundle and in what a patch makes', t => refusesElsewhere(t, world))
  await t.test('what the datastore refuses is explained where its form is wrong', t => explains(t, world))
  await t.test('$validate tells the same', t => validates(t, world))
}

const misspelt = {
  code: 'structure',
  diagnostics: /^Patient\.birthdate: .*birthDate/,
  expression: ['Patient.birthdate']
}

async function refusesWhatWouldBeLost (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient({ birthDate: '1970-01-01' }))
  isRefused(
    t,
    await fhir.send('POST', '/Patient', patient({ birthdate: '1970-01-01' })),
    { status: 422, ...misspelt },
    'a create'
  )
  isRefused(
    t,
    await fhir.send('PUT', `/Patient/${id}`, patient({ id, birthdate: '1970-01-02' })),
    { status: 422, ...misspelt },
    'an update'
  )
  isRefused(
    t,
    await fhir.send('PUT', '/Patient?identifier=urn:x|1', patient({ birthdate: '1970-01-02' })),
    { status: 422, ...misspelt },
    'an update by criteria'
  )
  isRefused(
    t,
    await fhir.send('POST', '/Patient', patient({ birthdate: '1970-01-01' }), {
      'if-none-exist': 'identifier=urn:x|1'
    }),
    { status: 422, ...misspelt },
    'a create by criteria'
  )
  const both = await fhir.send('POST', '/Patient', patient({ birthdate: '1970-01-01', gender: ['male', 'female'] }))
  t.strictSame(
    both.resource.issue.map(({ expression }: any) => expression),
    [['Patient.birthdate'], ['Patient.gender']],
    'all faults are told at once'
  )
  t.match(
    await fhir.send('GET', `/Patient/${id}`),
    { resource: { birthDate: '1970-01-01', meta: { versionId: '1' } } },
    'nothing was changed'
  )
}

async function refusesElsewhere (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const wrong = [{ op: 'add', path: '/birthdate', value: '1970-01-01' }]
  isRefused(t, await fhir.send('PATCH', `/Patient/${id}`, wrong, patchType), { status: 422, ...misspelt }, 'a patch')
  const inEntry = { status: 422, code: 'structure', expression: ['Bundle.entry[1].resource.birthdate'] }
  for (const bad of [
    entry('POST', 'Patient', patient({ birthdate: '1970-01-01' })),
    entry('PUT', `Patient/${id}`, patient({ id, birthdate: '1970-01-01' })),
    patchEntry(`Patient/${id}`, wrong)
  ]) {
    isRefused(
      t,
      await fhir.send('POST', '', bundle('transaction', entry('POST', 'Patient', patient()), bad)),
      inEntry,
      'an entry of a transaction'
    )
    const { resource } = await fhir.send('POST', '', bundle('batch', entry('GET', `Patient/${id}`), bad))
    t.match(
      resource.entry[1].response,
      { status: /^422/, outcome: { issue: [{ code: 'structure', expression: [/birthdate$/] }] } },
      'an entry of a batch'
    )
  }
  t.match(await fhir.send('GET', '/Patient?_summary=count'), { resource: { total: 1 } }, 'nothing was stored')
}

async function explains (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const noDay = {
    status: 422,
    code: 'structure',
    diagnostics: /^Patient\.birthDate: expected a date/,
    expression: ['Patient.birthDate']
  }
  isRefused(t, await fhir.send('POST', '/Patient', patient({ birthDate: '1970-02-30' })), noDay, 'a create')
  isRefused(t, await fhir.send('PUT', `/Patient/${id}`, patient({ id, birthDate: '30.1.1970' })), noDay, 'an update')
  isRefused(
    t,
    await fhir.send('POST', '/Patient', patient({ birthDate: ' 1970-01-30' })),
    noDay,
    'HAPI fails over a day with a space before it'
  )
  isRefused(
    t,
    await fhir.send(
      'POST',
      '',
      bundle(
        'transaction',
        entry('POST', 'Patient', patient()),
        entry('POST', 'Observation', observation(`Patient/${id}`, { valueInteger: 1.5 }))
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

async function validates (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join({ scopes: ['read'] })
  t.match(await send('POST', '/Patient/$validate', patient({ birthdate: '1970-01-01' })), {
    status: 200,
    resource: { resourceType: 'OperationOutcome', issue: [{ severity: 'error', ...misspelt }] }
  })
}
