import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { attackByLimitedKeys } from './limited-keys.js'

t.setTimeout(300_000)
t.test('a key with limits sees, counts and changes nothing else on the real FHIR server', async t => {
  t.setTimeout(300_000)
  await attackByLimitedKeys(t, { url: requireRealBackend().url, server: 'hapi' }, 1)
})
