import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { idempotencyContract } from './idempotency-contract.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())
await idempotencyContract(t, sandbox.url)
t.end()
