import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { erasureContract } from './erasure-contract.js'

await erasureContract(t, realBackend().url)
t.end()
