import type { Test } from 'tap'
import { createFhirClient } from '../harness/fhir-server.js'
import { assertRejected, buildObservation, buildPatient, storeResources, type World } from './fixture.js'

/** What `$validate` must do with a server that validates: http://hl7.org/fhir/R4/resource-operation-validate.html */
export async function testValidateOperation (t: Test, world: World, serverUrl: string): Promise<void> {
  await t.test('an invalid resource is reported with the path of each issue, and the request succeeds', t => testOutcome(t, world))
  await t.test('nothing of the datastore, its codes or the tag is in the report', t => testNoDisclosure(t, world))
  await t.test('a reference to what is not the tenant\'s is refused as on a write', t => testReferences(t, world))
  await t.test('nothing is stored', t => testNothingStored(t, world, serverUrl))
}

const path = '/Observation/$validate'
const buildParameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter })

async function testOutcome (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join({ scopes: ['read'] })
  const { status: _, ...incomplete } = buildObservation('#p', { contained: [{ resourceType: 'Patient', id: 'p' }] })
  for (const body of [
    incomplete,
    buildParameters({ name: 'resource', resource: incomplete }),
    buildParameters({ name: 'mode', valueCode: 'create' }, { name: 'resource', resource: incomplete })
  ]) {
    const response = await send('POST', path, body)
    t.match(response, {
      status: 200,
      headers: { 'content-type': 'application/fhir+json; charset=utf-8' },
      resource: { resourceType: 'OperationOutcome' }
    })
    t.match(
      response.resource.issue.find(({ diagnostics }: any) => /Observation\.status/.test(diagnostics)),
      { severity: 'error', code: /^(required|processing)$/, expression: [/^Observation/] }
    )
  }
  const unreadable = await send('POST', '/Patient/$validate?mode=update', {
    resourceType: 'Patient',
    id: 'x',
    gender: 'unheard-of'
  })
  t.match(unreadable, { status: 200, resource: { issue: [{ severity: 'error', diagnostics: /gender/ }] } })
  const valid = await send(
    'POST',
    '/Patient/$validate',
    buildPatient({ text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Ada</div>' } })
  )
  t.match(valid, { status: 200, resource: { issue: [{ severity: 'information' }] } })
}

async function testNoDisclosure (t: Test, { fhir: join, gateway }: World): Promise<void> {
  const { send, tenantId } = await join()
  const responses = await Promise.all([
    send('POST', '/Patient/$validate', buildPatient({ gender: 'unheard-of' })),
    send(
      'POST',
      '/Patient/$validate',
      buildPatient({
        meta: {
          tag: [
            { system: 'urn:clinigate:tenant', code: 'another' },
            { system: 'urn:x', code: 'y' }
          ]
        }
      })
    ),
    send('POST', '/Patient/$validate', buildPatient({ generalPractitioner: [{ reference: 'Patient/nobody' }] }))
  ])
  for (const { text } of responses) {
    for (const secret of ['HAPI-', '127.0.0.1', 'localhost', tenantId, 'urn:clinigate', 'Line[']) {
      t.notOk(text.includes(secret), `${secret} in ${text}`)
    }
  }
  t.notMatch(JSON.stringify(gateway.logged()), 'unheard-of')
}

async function testReferences (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [[own], [foreign]] = [await storeResources(fhir, buildPatient()), await storeResources(other, buildPatient())]
  t.equal((await fhir.send('POST', path, buildObservation(`Patient/${own}`))).status, 200)
  const refused = await Promise.all(
    [`Patient/${foreign}`, 'Patient/nobody'].map(reference => fhir.send('POST', path, buildObservation(reference)))
  )
  for (const response of refused) {
    assertRejected(
      t,
      response,
      { status: 422, code: 'business-rule', expression: ['Observation.subject'] },
      'a foreign reference'
    )
  }
  t.equal(refused[0]!.text, refused[1]!.text)
}

async function testNothingStored (t: Test, { fhir: join }: World, serverUrl: string): Promise<void> {
  const { send, tenantId } = await join()
  const made = (await send('POST', '/Patient', buildPatient())).resource
  t.equal((await send('POST', '/Patient/$validate', buildPatient())).status, 200)
  t.equal((await send('POST', '/Patient/$validate', { ...made, active: true })).status, 200)
  t.match(await createFhirClient(serverUrl).fetchTagged(tenantId, 'Patient'), [{ id: made.id, meta: { versionId: '1' } }])
}

/** Requests that are refused before the datastore gets any. */
export async function testValidateRejections (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const resource = buildPatient()
  const invalid: ReadonlyArray<[string, unknown]> = [
    ['/Patient/$validate', buildObservation('#')],
    ['/Patient/$validate', []],
    ['/Patient/$validate', buildParameters()],
    ['/Patient/$validate', buildParameters({ name: 'resource', resource }, { name: 'resource', resource })],
    ['/Patient/$validate', buildParameters({ name: 'resource', resource }, { name: 'profile', valueUri: 'http://x' })],
    ['/Patient/$validate?profile=http://x', resource],
    ['/Patient/$validate', buildParameters({ name: 'resource', resource }, { name: 'mode', valueCode: 'delete' })],
    ['/Patient/$validate?mode=delete', resource],
    ['/Patient/$validate', buildParameters(...[null as never])]
  ]
  for (const [path, body] of invalid) assertRejected(t, await send('POST', path, body), 400, `${path} ${JSON.stringify(body)}`)
  for (const path of ['/ValueSet/$validate', '/Subscription/$validate']) {
    assertRejected(
      t,
      await send('POST', path, { resourceType: path.split('/')[1] }),
      { status: 405, code: 'not-supported' },
      path
    )
  }
  assertRejected(t, await send('GET', '/Patient/$validate'), 405, 'GET')
  assertRejected(
    t,
    await (await join({ scopes: ['write'] })).send('POST', '/Patient/$validate', resource),
    403,
    'a key that may not read'
  )
}
