import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { includeContract } from './include-contract.js'

await includeContract(t, realBackend().url)
t.end()
