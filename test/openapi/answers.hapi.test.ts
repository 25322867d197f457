import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { testExamples } from './answers-contract.js'

t.test('on HAPI', async t => testExamples(t, { fhirUrl: realBackend().url }))
