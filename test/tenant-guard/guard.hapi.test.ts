import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { guardContract } from './guard-contract.js'

const { url, server } = requireRealBackend()
await guardContract(t, url, {
  keepsSearches: server === 'hapi',
  validates: true,
  checksReferences: server === 'hapi',
  callsOfWrite: 1
})
