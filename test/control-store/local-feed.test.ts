import t from 'tap'
import { inFile } from './databases.js'
import { testLocalFeed } from './local-feed-contract.js'

t.test('on SQLite', t => testLocalFeed(t, inFile))
