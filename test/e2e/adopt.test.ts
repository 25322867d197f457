import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testAdoption } from './adopt.js'

t.test("after adoption the records of an existing server are one tenant's, and no other tenant can read them", async t => {
  const sandbox = await startTestSandbox(t)
  await testAdoption(t, sandbox.url)
})
