import t from 'tap'
import { makeFileDatabase } from './databases.js'
import { testLocalFeed } from './local-feed-contract.js'

t.test('on SQLite', t => testLocalFeed(t, makeFileDatabase))
