import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { crashContract } from './crash-contract.js'

await t.test('a write that a key names is done once, wherever the process is killed', t => crashContract(t, realBackend().url))
t.end()
