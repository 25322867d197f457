import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testContradictingFields } from './contradicting-fields-contract.js'

await testContradictingFields(t, requireRealBackend().url)
t.end()
