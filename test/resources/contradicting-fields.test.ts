import t from 'tap'
import { contradictingFieldsContract } from './contradicting-fields-contract.js'

await contradictingFieldsContract(t)
t.end()
