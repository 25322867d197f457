import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { storedBundlesContract } from './stored-bundles-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => storedBundlesContract(t, await openWorld(t, { url, server: 'sandbox' })))
