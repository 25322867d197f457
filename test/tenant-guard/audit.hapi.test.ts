import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { auditContract } from './audit-contract.js'

await auditContract(t, requireRealBackend().url, 1_200)
