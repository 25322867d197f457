import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testBareIds } from './bare-ids-contract.js'

const sandbox = await startTestSandbox(t)
await testBareIds(t, sandbox.url)
t.end()
