import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { bareIdsContract } from './bare-ids-contract.js'

const sandbox = await startTestSandbox(t)
await bareIdsContract(t, sandbox.url)
t.end()
