import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { guardContract } from './guard-contract.js'

const sandbox = await startTestSandbox(t)
await guardContract(t, sandbox.url, { keepsSearches: false, validates: false, checksReferences: true, callsOfWrite: 1 })
