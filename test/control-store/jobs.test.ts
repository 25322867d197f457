import t from 'tap'
import { makeFileDatabase } from './databases.js'
import { testJobs } from './jobs-contract.js'

t.test('on SQLite', t => testJobs(t, makeFileDatabase))
