import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { auditContract } from './audit-contract.js'

await auditContract(t, realBackend().url, 1_200)
