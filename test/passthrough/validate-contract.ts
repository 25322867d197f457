import type { Test } from 'tap'
import { fhirServer } from '../harness/fhir-server.js'
import { isRefused, observation, patient, stored, type World } from './fixture.js'

/** What `$validate` must do with a server that validates: http://hl7.org/fhir/R4/resource-operation-validate.html */
export async function validateContract (t: Test, world: World, serverUrl: string): Promise<void> {
  await t.test('what is not valid is told with its place, and is no failure', t => tells(t, world))
  await t.test('nothing of the datastore, its codes or the tag is in what is told', t => tellsNothingElse(t, world))
  await t.test('a reference to what is not the tenant\'s is refused as on a write', t => refusesReferences(t, world))
  await t.test('nothing is stored', t => storesNothing(t, world, serverUrl))
}

const path = '/Observation/$validate'
const parameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter })

async function tells (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join({ scopes: ['read'] })
  const { status: _, ...incomplete } = observation('#p', { contained: [{ resourceType: 'Patient', id: 'p' }] })
  for (const body of [
    incomplete,
    parameters({ name: 'resource', resource: incomplete }),
    parameters({ name: 'mode', valueCode: 'create' }, { name: 'resource', resource: incomplete })
  ]) {
    const told = await send('POST', path, body)
    t.match(told, {
      status: 200,
      headers: { 'content-type': 'application/fhir+json; charset=utf-8' },
      resource: { resourceType: 'OperationOutcome' }
    })
    t.match(
      told.resource.issue.find(({ diagnostics }: any) => /Observation\.status/.test(diagnostics)),
      { severity: 'error', code: /^(required|processing)$/, expression: [/^Observation/] }
    )
  }
  const unreadable = await send('POST', '/Patient/$validate?mode=update', {
    resourceType: 'Patient',
    id: 'x',
    gender: 'unheard-of'
  })
  t.match(unreadable, { status: 200, resource: { issue: [{ severity: 'error', diagnostics: /gender/ }] } })
  const good = await send(
    'POST',
    '/Patient/$validate',
    patient({ text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Ada</div>' } })
  )
  t.match(good, { status: 200, resource: { issue: [{ severity: 'information' }] } })
}

async function tellsNothingElse (t: Test, { fhir: join, gateway }: World): Promise<void> {
  const { send, tenantId } = await join()
  const told = await Promise.all([
    send('POST', '/Patient/$validate', patient({ gender: 'unheard-of' })),
    send(
      'POST',
      '/Patient/$validate',
      patient({
        meta: {
          tag: [
            { system: 'urn:clinigate:tenant', code: 'another' },
            { system: 'urn:x', code: 'y' }
          ]
        }
      })
    ),
    send('POST', '/Patient/$validate', patient({ generalPractitioner: [{ reference: 'Patient/nobody' }] }))
  ])
  for (const { text } of told) {
    for (const secret of ['HAPI-', '127.0.0.1', 'localhost', tenantId, 'urn:clinigate', 'Line[']) {
      t.notOk(text.includes(secret), `${secret} in ${text}`)
    }
  }
  t.notMatch(JSON.stringify(gateway.logged()), 'unheard-of')
}

async function refusesReferences (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [[own], [foreign]] = [await stored(fhir, patient()), await stored(other, patient())]
  t.equal((await fhir.send('POST', path, observation(`Patient/${own}`))).status, 200)
  const refused = await Promise.all(
    [`Patient/${foreign}`, 'Patient/nobody'].map(reference => fhir.send('POST', path, observation(reference)))
  )
  for (const answer of refused) {
    isRefused(
      t,
      answer,
      { status: 422, code: 'business-rule', expression: ['Observation.subject'] },
      'a foreign reference'
    )
  }
  t.equal(refused[0]!.text, refused[1]!.text)
}

async function storesNothing (t: Test, { fhir: join }: World, serverUrl: string): Promise<void> {
  const { send, tenantId } = await join()
  const made = (await send('POST', '/Patient', patient())).resource
  t.equal((await send('POST', '/Patient/$validate', patient())).status, 200)
  t.equal((await send('POST', '/Patient/$validate', { ...made, active: true })).status, 200)
  t.match(await fhirServer(serverUrl).tagged(tenantId, 'Patient'), [{ id: made.id, meta: { versionId: '1' } }])
}

/** What is refused before any datastore is asked. */
export async function validateRefusals (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const resource = patient()
  const bad: ReadonlyArray<[string, unknown]> = [
    ['/Patient/$validate', observation('#')],
    ['/Patient/$validate', []],
    ['/Patient/$validate', parameters()],
    ['/Patient/$validate', parameters({ name: 'resource', resource }, { name: 'resource', resource })],
    ['/Patient/$validate', parameters({ name: 'resource', resource }, { name: 'profile', valueUri: 'http://x' })],
    ['/Patient/$validate?profile=http://x', resource],
    ['/Patient/$validate', parameters({ name: 'resource', resource }, { name: 'mode', valueCode: 'delete' })],
    ['/Patient/$validate?mode=delete', resource],
    ['/Patient/$validate', parameters(...[null as never])]
  ]
  for (const [path, body] of bad) isRefused(t, await send('POST', path, body), 400, `${path} ${JSON.stringify(body)}`)
  for (const path of ['/ValueSet/$validate', '/Subscription/$validate']) {
    isRefused(
      t,
      await send('POST', path, { resourceType: path.split('/')[1] }),
      { status: 405, code: 'not-supported' },
      path
    )
  }
  isRefused(t, await send('GET', '/Patient/$validate'), 405, 'GET')
  isRefused(
    t,
    await (await join({ scopes: ['write'] })).send('POST', '/Patient/$validate', resource),
    403,
    'a key that may not read'
  )
}
