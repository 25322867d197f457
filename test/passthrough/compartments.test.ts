import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testCompartments } from './compartments-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => testCompartments(t, await openWorld(t, { url, server: 'sandbox' })))
