import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { guardContract } from './guard-contract.js'

const server = await startTestSandbox(t, unlikeHapi)
await guardContract(t, server.url, { keepsSearches: false, validates: false, checksReferences: false, callsOfWrite: 2 })
