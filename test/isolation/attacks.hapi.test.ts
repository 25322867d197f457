import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { attackAll } from './attacks.js'
import { handOverOnHapi } from './failover.js'

t.setTimeout(900_000)
t.test('attacks on the real FHIR server', async t => {
  t.setTimeout(900_000)
  const live = await startTestSandbox(t)
  await attackAll(t, { kind: 'hapi', testUrl: realBackend().url, liveUrl: live.url, handOver: handOverOnHapi })
})
