import t from 'tap'
import { makeFileDatabase } from './databases.js'
import { testUsage } from './usage-contract.js'

t.test('on SQLite', t => testUsage(t, makeFileDatabase))
