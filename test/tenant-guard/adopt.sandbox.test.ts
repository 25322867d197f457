import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { adoptContract } from './adopt-contract.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())
await adoptContract(t, sandbox.url, 1_200)
