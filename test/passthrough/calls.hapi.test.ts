import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { callsContract } from './calls-contract.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(900_000)
await t.test('on the real FHIR server', async t => callsContract(t, { url: realBackend().url, server: 'hapi' }))
