import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testDocumentedForms } from './documented-forms-contract.js'

const sandbox = await startTestSandbox(t)
await testDocumentedForms(t, sandbox.url)
t.end()
