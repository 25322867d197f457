import t, { type Test } from 'tap'
import type { ServerBehaviour } from '../../src/sandbox/server-behaviour.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { openExportWorld, type ExportWorld } from './exporting.js'

async function openWorld (t: Test, behaviour: Partial<ServerBehaviour>): Promise<ExportWorld> {
  const sandbox = await startTestSandbox(t, behaviour)
  return await openExportWorld(t, { url: sandbox.url, server: 'sandbox' })
}

const buildBasic = (patient: string) =>
  ({ resourceType: 'Basic', code: { text: 'x' }, subject: { reference: `Patient/${patient}` } })

for (const unknownParameters of ['rejected', 'ignored'] as const) {
  t.test(`a group is exported whole from a server without Basic?patient=, unknown ones ${unknownParameters}`, async t => {
    const { join, direct } = await openWorld(t, { missingParameters: ['Basic.patient'], unknownParameters })
    const own = await join()
    const [member, other] = await direct.storeAll(own.tenantId, [
      { resourceType: 'Patient' }, { resourceType: 'Patient' }
    ])
    const [about] = await direct.storeAll(own.tenantId, [buildBasic(member!), buildBasic(other!)])
    const { id: group } = await direct.store(own.tenantId, {
      resourceType: 'Group', type: 'person', actual: true, member: [{ entity: { reference: `Patient/${member}` } }]
    })
    const { lines } = await own.runExport(`/Group/${group}/$export?_type=Patient,Basic`)
    t.strictSame(lines['Patient']?.map(({ id }) => id), [member])
    t.strictSame(lines['Basic']?.map(({ id }) => id), [about])
  })
}

t.test('a type that the server serves and does not state is in an export', async t => {
  const { join, direct } = await openWorld(t, { unstatedTypes: ['Basic'] })
  const own = await join()
  const { id: patient } = await direct.store(own.tenantId, { resourceType: 'Patient' })
  const { id } = await direct.store(own.tenantId, buildBasic(patient))
  const { lines } = await own.runExport('/$export')
  t.strictSame(lines['Basic']?.map(record => record.id), [id])
})

t.test('a write that the server does not support for its type is 501, not "try again"', async t => {
  const { join } = await openWorld(t, { readOnlyTypes: ['Basic'] })
  const own = await join()
  const response = await own.send('POST', '/Basic', { resourceType: 'Basic', code: { text: 'x' } })
  t.equal(response.status, 501)
  t.match(JSON.parse(response.text).issue, [{ code: 'not-supported', diagnostics: /does not support this interaction/ }])
})
