import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { includeContract } from './include-contract.js'

const sandbox = await startTestSandbox(t)
await includeContract(t, sandbox.url)
t.end()
