import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testEvents } from './events-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testEvents(t, makeDatabasesOn(server)))
