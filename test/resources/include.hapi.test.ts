import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { includeContract } from './include-contract.js'

const { url, refusedTypes } = realBackend()
await includeContract(t, url, refusedTypes)
t.end()
