import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { resourcesContract } from './resources-contract.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(480_000)
await t.test('on the sandbox', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  await resourcesContract(t, sandbox.url)
})
