import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { adoptContract } from './adopt-contract.js'

await adoptContract(t, realBackend().url, 2_600)
