import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testBareIds } from './bare-ids-contract.js'

await testBareIds(t, requireRealBackend().url)
t.end()
