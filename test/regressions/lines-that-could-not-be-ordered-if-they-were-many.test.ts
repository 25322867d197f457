import { test } from 'tap'
import { startNativeScene } from '../jobs/native-importing.js'
import { startTestSandbox } from '../harness/sandbox.js'

// Places were put on the disk in the middle of what was asked together, so that the asking failed: "no such savepoint".
test('an import of thousands of lines that refer to one behind them is ordered', async t => {
  const sandbox = await startTestSandbox(t)
  const observation = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'weight' },
    subject: { reference: 'Patient/last' }
  }
  const scene = await startNativeScene(t, {
    fhirUrl: sandbox.url,
    isUsual: true,
    dryRun: true,
    lines: [...Array(2_500).fill(observation), { resourceType: 'Patient', id: 'last' }]
  })
  t.equal(await scene.run(), 'ended')
  t.ok(scene.results().every(({ status }) => status === 'valid'))
})
