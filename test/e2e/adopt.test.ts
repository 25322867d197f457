import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testAdoption } from './adopt.js'

t.test('the records of an existing server are a tenant\'s once they are adopted, and nobody else\'s', async t => {
  const sandbox = await startTestSandbox(t)
  await testAdoption(t, sandbox.url)
})
