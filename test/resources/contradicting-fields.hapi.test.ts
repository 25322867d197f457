import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { contradictingFieldsContract } from './contradicting-fields-contract.js'

await contradictingFieldsContract(t, realBackend().url)
t.end()
