import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testFhirIdempotency } from '../passthrough/once-contract.js'
import { testCrashes } from './crash-contract.js'
import { testIdempotency } from './idempotency-contract.js'

await testIdempotency(t, requireRealBackend().url)
await t.test('in raw FHIR', t => testFhirIdempotency(t, requireRealBackend().url))
await t.test('a keyed write is done once, wherever the process is killed', t => testCrashes(t, requireRealBackend().url))
t.end()
