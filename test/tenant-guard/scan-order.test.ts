import t from 'tap'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { catchFailure } from './guarded.js'
import { runAdoption, runAudit, openExistingServer } from './operator.js'

for (const [parameter, change] of [['_sort', true], ['_lastUpdated', false]] as const) {
  t.test(`an audit or adoption of a server that ignores ${parameter} stops with an error`, async t => {
    const sandbox = await startTestSandbox(t, { ignoredParameters: [parameter] })
    const server = openExistingServer(sandbox.url)
    const first = await server.plant({ resourceType: 'Patient' })
    await new Promise(resolve => setTimeout(resolve, 5))
    await server.plant({ resourceType: 'Patient' })
    if (change) await server.send('PUT', `Patient/${first.id}`, { ...first, active: true })
    const backend = new HttpBackend({ name: 'live', baseUrl: sandbox.url })
    t.after(() => backend.close())
    const expected = { code: 'BACKEND_ERROR', cause: { reason: `a search ignores ${parameter}` } }
    t.match(await catchFailure(runAudit(backend, ['Patient'])), expected)
    t.match(await catchFailure(runAdoption(backend, 'clinic', server.search('Patient'))), expected)
    t.ok((await server.listAll('Patient')).every(({ meta }) => meta.tag?.length === 1), 'nothing was adopted')
  })
}

t.test('an audit holds the records of a type that the CapabilityStatement leaves out', async t => {
  const sandbox = await startTestSandbox(t, { unstatedTypes: ['Basic'] })
  const { id } = await openExistingServer(sandbox.url).plant({ resourceType: 'Basic', code: { text: 'x' } })
  const backend = new HttpBackend({ name: 'live', baseUrl: sandbox.url })
  t.after(() => backend.close())
  t.strictSame(await runAudit(backend, ['Basic']), [`no-tag Basic/${id}`])
})
