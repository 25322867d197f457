import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { resumedContract } from './resumed-contract.js'

t.setTimeout(480_000)
await t.test('on the real FHIR server', { timeout: 480_000 }, async t => resumedContract(t, realBackend().url))
