import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { guardContract } from './guard-contract.js'

const { url, server } = realBackend()
await guardContract(t, url, {
  keepsSearches: server === 'hapi',
  validates: true,
  checksReferences: server === 'hapi',
  callsOfWrite: 1
})
