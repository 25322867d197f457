import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testJoins } from './joins-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => testJoins(t, await openWorld(t, { url, server: 'sandbox' })))
