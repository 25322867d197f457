import t from 'tap'
import { makeFileDatabase } from './databases.js'
import { testEvents } from './events-contract.js'

t.test('on SQLite', t => testEvents(t, makeFileDatabase))
