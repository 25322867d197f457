import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { probeForeignIds } from './foreign-ids.js'

t.setTimeout(600_000)
t.test('ids of others on the real FHIR server', async t => {
  const live = await startTestSandbox(t)
  await probeForeignIds(t, { testUrl: requireRealBackend().url, liveUrl: live.url })
})
