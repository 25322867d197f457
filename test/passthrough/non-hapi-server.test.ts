import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { conditionalsContract } from './conditionals-contract.js'
import { readsContract } from './reads-contract.js'
import { searchesContract } from './searches-contract.js'
import { transactionsContract } from './transactions-contract.js'
import { openWorld } from './fixture.js'
import { writesContract } from './writes-contract.js'

// The whole file, on a machine that does much else.
t.setTimeout(600_000)
const server = await startTestSandbox(t, { ...unlikeHapi, references: 'checked' })
const world = await openWorld(t, { url: server.url, server: 'sandbox' })
await t.test('reads', t => readsContract(t, world))
await t.test('searches', t => searchesContract(t, world))
await t.test('writes', t => writesContract(t, world))
await t.test('conditionals', t => conditionalsContract(t, world))
await t.test('transactions', t => transactionsContract(t, world))
