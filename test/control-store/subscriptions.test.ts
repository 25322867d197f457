import t from 'tap'
import { makeFileDatabase } from './databases.js'
import { testSubscriptions } from './subscriptions-contract.js'

t.test('on SQLite', t => testSubscriptions(t, makeFileDatabase))
