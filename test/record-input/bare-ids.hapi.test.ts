import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { bareIdsContract } from './bare-ids-contract.js'

await bareIdsContract(t, realBackend().url)
t.end()
