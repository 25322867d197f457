import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { includeContract } from './include-contract.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())
await includeContract(t, sandbox.url)
t.end()
