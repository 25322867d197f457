import t from 'tap'
import { probeForeignJobs } from './foreign-jobs.js'

t.test('a job of another tenant or of the other mode gets the same response as an unknown one', t => probeForeignJobs(t))
