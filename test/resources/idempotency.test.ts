import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { crashContract } from './crash-contract.js'
import { idempotencyContract } from './idempotency-contract.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())
await idempotencyContract(t, sandbox.url)
await t.test('a keyed write is done once, wherever the process is killed', t => crashContract(t, sandbox.url))
t.end()
