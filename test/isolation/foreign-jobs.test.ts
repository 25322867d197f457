import t from 'tap'
import { probeForeignJobs } from './foreign-jobs.js'

t.test('another tenant\'s job, and that of the other mode, is answered as one that never was', t => probeForeignJobs(t))
