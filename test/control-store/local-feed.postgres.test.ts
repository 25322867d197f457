import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testLocalFeed } from './local-feed-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testLocalFeed(t, makeDatabasesOn(server)))
