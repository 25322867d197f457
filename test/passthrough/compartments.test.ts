import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { compartmentsContract } from './compartments-contract.js'
import { openWorld } from './fixture.js'

await onEachSandbox(t, async (t, url) => compartmentsContract(t, await openWorld(t, { url, server: 'sandbox' })))
