import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { onceContract } from '../passthrough/once-contract.js'
import { crashContract } from './crash-contract.js'
import { idempotencyContract } from './idempotency-contract.js'

await idempotencyContract(t, realBackend().url)
await t.test('in raw FHIR', t => onceContract(t, realBackend().url))
await t.test('a keyed write is done once, wherever the process is killed', t => crashContract(t, realBackend().url))
t.end()
