import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { bringServer } from './adopt.js'

t.test('the records of an existing server are a tenant\'s once they are adopted, and nobody else\'s', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.teardown(() => sandbox.close())
  await bringServer(t, sandbox.url)
})
