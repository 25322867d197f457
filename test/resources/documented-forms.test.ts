import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { documentedFormsContract } from './documented-forms-contract.js'

const sandbox = await startTestSandbox(t)
await documentedFormsContract(t, sandbox.url)
t.end()
