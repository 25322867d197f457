import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testResumedExports } from './resumed-contract.js'

t.setTimeout(480_000)
await t.test('on the real FHIR server', { timeout: 480_000 }, async t => testResumedExports(t, requireRealBackend().url))
