import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testErasure } from './erasure-contract.js'

const sandbox = await startTestSandbox(t)
await testErasure(t, sandbox.url)
t.end()
