import t from 'tap'
import { inFile } from './databases.js'
import { testJobs } from './jobs-contract.js'

t.test('on SQLite', t => testJobs(t, inFile))
