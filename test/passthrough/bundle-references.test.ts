import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { bundleReferencesContract } from './bundle-references-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => bundleReferencesContract(t, await openWorld(t, { url, server: 'sandbox' })))
