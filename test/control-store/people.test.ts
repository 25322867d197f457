import t from 'tap'
import { makeInMemoryDatabase } from './databases.js'
import { testPeople } from './people-contract.js'

t.test('on SQLite', t => testPeople(t, makeInMemoryDatabase))
