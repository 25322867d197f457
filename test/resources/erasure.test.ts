import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { erasureContract } from './erasure-contract.js'

const sandbox = await startTestSandbox(t)
await erasureContract(t, sandbox.url)
t.end()
