import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { unlikeHapi } from '../harness/unlike-hapi.js'
import { guardContract } from './guard-contract.js'

const server = await startSandbox({ file: ':memory:', now: () => new Date(), manners: unlikeHapi })
t.teardown(() => server.close())
await guardContract(t, server.url, { keepsSearches: false, validates: false, checksReferences: false, callsOfWrite: 2 })
