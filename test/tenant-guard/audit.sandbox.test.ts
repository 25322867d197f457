import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { auditContract } from './audit-contract.js'

const sandbox = await startTestSandbox(t)
await auditContract(t, sandbox.url, 1_200)
