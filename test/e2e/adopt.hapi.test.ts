import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { bringServer } from './adopt.js'

t.test("the records of an existing server are a tenant's once they are adopted, and nobody else's", t =>
  bringServer(t, realBackend().url)
)
