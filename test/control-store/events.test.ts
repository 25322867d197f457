import t from 'tap'
import { inFile } from './databases.js'
import { testEvents } from './events-contract.js'

t.test('on SQLite', t => testEvents(t, inFile))
