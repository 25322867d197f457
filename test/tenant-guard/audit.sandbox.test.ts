import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { auditContract } from './audit-contract.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())
await auditContract(t, sandbox.url, 1_200)
