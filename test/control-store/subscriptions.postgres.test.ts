import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testSubscriptions } from './subscriptions-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testSubscriptions(t, makeDatabasesOn(server)))
