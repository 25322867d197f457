import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testClient } from './client-contract.js'

t.test('on HAPI', async t => testClient(t, { fhirUrl: requireRealBackend().url }))
