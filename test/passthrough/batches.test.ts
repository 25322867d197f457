import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { batchesContract } from './batches-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => batchesContract(t, await openWorld(t, { url, server: 'sandbox' })))
