import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testBatches } from './batches-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => testBatches(t, await openWorld(t, { url, server: 'sandbox' })))
