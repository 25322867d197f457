import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { actAtRandom } from './two-tenants.js'

// ISOLATION_SECONDS=600 ISOLATION_SEED=$RANDOM looks longer and elsewhere.
const { ISOLATION_SECONDS: seconds = 40, ISOLATION_SEED: seed = 4 } = process.env
t.setTimeout((Number(seconds) + 120) * 1000)

t.test('two tenants acting at random on the real FHIR server see nothing of each other', async t => {
  const live = await startTestSandbox(t)
  const { url, server } = requireRealBackend()
  await actAtRandom(
    t,
    { testUrl: url, liveUrl: live.url, deletesWhatIsReferredTo: server !== 'hapi' },
    { seconds: Number(seconds), seed: Number(seed) }
  )
})
