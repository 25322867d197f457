import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testControlStore } from './store-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testControlStore(t, makeDatabasesOn(server)))
