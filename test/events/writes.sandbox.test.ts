import t from 'tap'
import { testWrites } from './writes-contract.js'

t.test('on the sandbox', t => testWrites(t))
