import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testAdoption } from './adopt.js'

t.test("after adoption the records of an existing server are one tenant's, and no other tenant can read them", t =>
  testAdoption(t, requireRealBackend().url)
)
