import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testUsage } from './usage-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testUsage(t, makeDatabasesOn(server)))
