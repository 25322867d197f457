import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { guardContract } from './guard-contract.js'

await guardContract(t, realBackend().url, {
  keepsSearches: true,
  validates: true,
  checksReferences: true,
  callsOfWrite: 1
})
