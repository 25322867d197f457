import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { resumedContract } from './resumed-contract.js'

t.setTimeout(240_000)
await t.test('on the sandbox', { timeout: 240_000 }, async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  await resumedContract(t, sandbox.url)
})
