import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { bundle, entry, isRefused, openWorld, patchType, patient, stored } from '../passthrough/fixture.js'

// A client reads again and repeats its write after a conflict, which helps where a version has changed, and never here.
t.test('criteria that several records match are refused with R4\'s code for it, and not as a conflict', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  const fhir = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const [id] = await stored(fhir, patient(), patient())
  const several = { status: 412, code: 'multiple-matches', diagnostics: /^Several records match/ }
  const url = '/Patient?family=byron'
  isRefused(t, await fhir.send('PUT', url, patient()), several, 'update')
  isRefused(
    t,
    await fhir.send('PATCH', url, [{ op: 'add', path: '/active', value: true }], patchType),
    several,
    'patch'
  )
  isRefused(t, await fhir.send('DELETE', url), several, 'delete')
  isRefused(t, await fhir.send('POST', '/Patient', patient(), { 'if-none-exist': 'family=byron' }), several, 'create')
  isRefused(
    t,
    await fhir.send('POST', '', bundle('transaction', entry('DELETE', url.slice(1)))),
    { ...several, expression: ['Bundle.entry[0]'] },
    'in a transaction'
  )
  const { resource } = await fhir.send('POST', '', bundle('batch', entry('DELETE', url.slice(1))))
  t.match(
    resource.entry,
    [{ response: { status: '412 Precondition Failed', outcome: { issue: [{ code: 'multiple-matches' }] } } }],
    'in a batch'
  )
  isRefused(
    t,
    await fhir.send('PUT', `/Patient/${id}`, patient(), { 'if-match': 'W/"9"' }),
    { status: 412, code: 'conflict' },
    'another version'
  )
})
