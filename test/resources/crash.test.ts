import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { crashContract } from './crash-contract.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())
await t.test('a write that a key names is done once, wherever the process is killed', t => crashContract(t, sandbox.url))
t.end()
