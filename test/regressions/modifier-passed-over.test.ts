import t from 'tap'
import { json, startFaultyServer } from '../backends/faulty-server.js'
import {
  bundle,
  entry,
  formType,
  isRefused,
  openWorld,
  patchEntry,
  patchType,
  patient
} from '../passthrough/fixture.js'

// HAPI takes birthdate:not for birthdate, so the one person born on that day would have been deleted.
t.test('a modifier that a search parameter does not have is refused before anything is asked or changed', async t => {
  const server = await startFaultyServer()
  t.after(() => server.close())
  server.answerProbes()
  server.behave(json(200, { resourceType: 'Bundle', type: 'searchset', total: 0 }))
  const { fhir } = await openWorld(t, { url: `${server.url}/fhir`, server: 'hapi' })
  const { send } = await fhir()
  const url = '/Patient?birthdate:not=1970-01-01'
  const says = {
    status: 400,
    code: 'invalid',
    diagnostics: /^birthdate:not: this parameter supports only :missing$/,
    expression: ['birthdate:not']
  }
  isRefused(t, await send('DELETE', url), says, 'a delete')
  isRefused(t, await send('PUT', url, patient()), says, 'an update')
  isRefused(t, await send('PATCH', url, [{ op: 'add', path: '/active', value: true }], patchType), says, 'a patch')
  isRefused(
    t,
    await send('POST', '/Patient', patient(), { 'if-none-exist': 'birthdate:not=1970-01-01' }),
    says,
    'a create'
  )
  isRefused(t, await send('GET', url), says, 'a search')
  isRefused(
    t,
    await send('GET', url, undefined, { prefer: 'handling=lenient' }),
    says,
    'a search that may leave out what is unknown'
  )
  isRefused(t, await send('POST', '/Patient/_search', 'birthdate:not=1970-01-01', formType), says, 'a search by POST')
  for (const [name, only] of Object.entries({
    'family:not': ':contains, :exact, :missing',
    'gender:exact': ':missing, :not, :of-type, :text',
    'gender:Patient': ':missing, :not, :of-type, :text',
    'organization:text': ':identifier, :missing, :\\[type\\]'
  })) {
    isRefused(
      t,
      await send('GET', `/Patient?${name}=x`),
      { status: 400, diagnostics: new RegExp(`^${name}: this parameter supports only ${only}$`) },
      name
    )
  }
  isRefused(
    t,
    await send('GET', '/Observation?code-value-quantity:missing=true'),
    { status: 400, diagnostics: /^code-value-quantity:missing: this parameter supports no modifiers$/ },
    'a composite'
  )
  isRefused(t, await send('GET', '/RiskAssessment?probability:not=0.5'), 400, 'a number')
  isRefused(t, await send('GET', '/Observation?patient.birthdate:not=1970-01-01'), says, 'in a chain')
  isRefused(
    t,
    await send('GET', '/Patient?_has:Observation:patient:date:not=1970-01-01'),
    { ...says, diagnostics: /^date:not: /, expression: ['date:not'] },
    'in _has'
  )
  isRefused(
    t,
    await send(
      'POST',
      '',
      bundle(
        'transaction',
        entry('DELETE', 'Patient?birthdate:not=1970-01-01'),
        patchEntry('Patient?birthdate:not=1970-01-01', [])
      )
    ),
    400,
    'in a transaction'
  )
  const unknown = await send('GET', '/Patient?birthdate:Byron=1970')
  isRefused(
    t,
    unknown,
    { status: 400, diagnostics: /^birthdate: this parameter supports only :missing$/ },
    'one that no parameter has is not said again'
  )
  isRefused(
    t,
    await send('DELETE', '/Patient?birthdate:missing=1'),
    { status: 400, diagnostics: /:missing takes true or false/ },
    'HAPI takes any value but true for false'
  )
  t.equal(server.seen.length, 0, 'nothing was asked')
  t.equal(
    (await send('GET', '/Patient?birthdate:missing=true&family:exact=Byron&gender:not=male&organization:missing=false'))
      .status,
    200,
    'those that there are'
  )
})
