import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { auditContract } from './audit-contract.js'

await onEachSandbox(t, (t, url) => auditContract(t, url, 1_200))
