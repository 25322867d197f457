import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { adoptContract } from './adopt-contract.js'

const sandbox = await startTestSandbox(t)
await adoptContract(t, sandbox.url, 1_200)
