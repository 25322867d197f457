import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testSearchLaw } from './search-law-contract.js'

// The whole file, which the runner would otherwise end after two minutes.
t.setTimeout(900_000)
await t.test('on the real FHIR server', t => testSearchLaw(t, requireRealBackend().url))
