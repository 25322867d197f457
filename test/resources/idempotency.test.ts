import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testCrashes } from './crash-contract.js'
import { testIdempotency } from './idempotency-contract.js'

const sandbox = await startTestSandbox(t)
await testIdempotency(t, sandbox.url)
await t.test('a keyed write is done once, wherever the process is killed', t => testCrashes(t, sandbox.url))
t.end()
