import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { probeForeignIds } from './foreign-ids.js'

t.test('another tenant’s ids on the real HAPI', t => probeForeignIds(t, { fhirUrl: realBackend().url }))
