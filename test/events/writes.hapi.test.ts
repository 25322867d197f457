import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { testWrites } from './writes-contract.js'

t.test('on HAPI', t => testWrites(t, realBackend().url))
