import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { resourcesContract } from './resources-contract.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(900_000)
await t.test('on the real FHIR server', t => resourcesContract(t, realBackend().url))
