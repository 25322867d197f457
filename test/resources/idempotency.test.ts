import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { crashContract } from './crash-contract.js'
import { idempotencyContract } from './idempotency-contract.js'

const sandbox = await startTestSandbox(t)
await idempotencyContract(t, sandbox.url)
await t.test('a keyed write is done once, wherever the process is killed', t => crashContract(t, sandbox.url))
t.end()
