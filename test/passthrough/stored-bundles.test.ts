import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testStoredBundles } from './stored-bundles-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => testStoredBundles(t, await openWorld(t, { url, server: 'sandbox' })))
