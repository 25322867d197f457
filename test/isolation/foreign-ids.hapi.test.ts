import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { realBackend } from '../harness/backend.js'
import { probeForeignIds } from './foreign-ids.js'

t.setTimeout(600_000)
t.test('ids of others on the real FHIR server', async t => {
  const live = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => live.close())
  await probeForeignIds(t, { testUrl: realBackend().url, liveUrl: live.url })
})
