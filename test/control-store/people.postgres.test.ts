import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testPeople } from './people-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testPeople(t, makeDatabasesOn(server)))
