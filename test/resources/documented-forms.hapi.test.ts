import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testDocumentedForms } from './documented-forms-contract.js'

await testDocumentedForms(t, requireRealBackend().url)
t.end()
