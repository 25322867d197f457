import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { testDifferences } from './differential-contract.js'
import { openWorld } from './fixture.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(3_600_000)
await t.test('the sandbox responds as HAPI does, and stores the same', async t =>
  testDifferences(
    t,
    {
      sandbox: await openWorld(t, { url: (await startTestSandbox(t)).url, server: 'sandbox' }),
      hapi: await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })
    },
    { runs: Number(process.env.DIFFERENTIAL_RUNS ?? 40), seed: Number(process.env.DIFFERENTIAL_SEED ?? 1) }
  )
)
