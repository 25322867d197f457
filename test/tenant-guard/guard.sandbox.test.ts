import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { guardContract } from './guard-contract.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())
await guardContract(t, sandbox.url, { keepsSearches: false, validates: false, checksReferences: true, callsOfWrite: 1 })
