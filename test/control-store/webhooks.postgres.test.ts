import t from 'tap'
import { startPostgres } from '../harness/postgres.js'
import { makeDatabasesOn } from './databases.js'
import { testWebhooks } from './webhooks-contract.js'

const server = await startPostgres(t)

t.test('on PostgreSQL', t => testWebhooks(t, makeDatabasesOn(server)))
