import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testAdoption } from './adopt.js'

t.test("the records of an existing server are a tenant's once they are adopted, and nobody else's", t =>
  testAdoption(t, requireRealBackend().url)
)
