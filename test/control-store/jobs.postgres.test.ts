import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testJobs } from './jobs-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testJobs(t, makeDatabasesOn(server)))
