import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { testConditionals } from './conditionals-contract.js'
import { testReads } from './reads-contract.js'
import { testSearches } from './searches-contract.js'
import { testTransactions } from './transactions-contract.js'
import { openWorld } from './fixture.js'
import { testWrites } from './writes-contract.js'

// The whole file, on a machine that does much else.
t.setTimeout(600_000)
const server = await startTestSandbox(t, { ...unlikeHapi, references: 'checked' })
const world = await openWorld(t, { url: server.url, server: 'sandbox' })
await t.test('reads', t => testReads(t, world))
await t.test('searches', t => testSearches(t, world))
await t.test('writes', t => testWrites(t, world))
await t.test('conditionals', t => testConditionals(t, world))
await t.test('transactions', t => testTransactions(t, world))
