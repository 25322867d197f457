import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { idempotencyContract } from './idempotency-contract.js'

await idempotencyContract(t, realBackend().url)
t.end()
