import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { realBackend } from '../harness/backend.js'
import { attackAll } from './attacks.js'
import { handOverOnHapi } from './hand-over.js'

t.setTimeout(900_000)
t.test('attacks on the real FHIR server', async t => {
  t.setTimeout(900_000)
  const live = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => live.close())
  await attackAll(t, { kind: 'hapi', testUrl: realBackend().url, liveUrl: live.url, handOver: handOverOnHapi })
})
