import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { attackAll } from './attacks.js'
import { handOverByUpdate, handOverOnHapi } from './failover.js'

t.setTimeout(900_000)
t.test('attacks on the real FHIR server', async t => {
  t.setTimeout(900_000)
  const live = await startTestSandbox(t)
  const { url, server } = requireRealBackend()
  const handOver = server === 'hapi' ? handOverOnHapi : handOverByUpdate
  await attackAll(t, { kind: 'hapi', testUrl: url, liveUrl: live.url, handOver })
})
