import t from 'tap'
import { testContradictingFields } from './contradicting-fields-contract.js'

await testContradictingFields(t)
t.end()
