import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { documentedFormsContract } from './documented-forms-contract.js'

await documentedFormsContract(t, realBackend().url)
t.end()
