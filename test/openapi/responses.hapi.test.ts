import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testExamples } from './responses-contract.js'

t.test('on HAPI', async t => testExamples(t, { fhirUrl: requireRealBackend().url }))
