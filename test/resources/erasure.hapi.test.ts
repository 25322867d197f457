import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testErasure } from './erasure-contract.js'

await testErasure(t, requireRealBackend().url)
t.end()
