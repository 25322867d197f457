import t from 'tap'
import { makeFileDatabase } from './databases.js'
import { testWebhooks } from './webhooks-contract.js'

t.test('on SQLite', t => testWebhooks(t, makeFileDatabase))
