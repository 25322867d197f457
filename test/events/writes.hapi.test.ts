import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testWrites } from './writes-contract.js'

t.test('on HAPI', t => testWrites(t, requireRealBackend().url))
