import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { adoptContract } from './adopt-contract.js'

await adoptContract(t, requireRealBackend().url, 2_600)
