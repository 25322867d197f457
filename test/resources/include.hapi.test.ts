import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testIncludes } from './include-contract.js'

const { url, refusedTypes } = requireRealBackend()
await testIncludes(t, url, refusedTypes)
t.end()
