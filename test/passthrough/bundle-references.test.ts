import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testBundleReferences } from './bundle-references-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => testBundleReferences(t, await openWorld(t, { url, server: 'sandbox' })))
