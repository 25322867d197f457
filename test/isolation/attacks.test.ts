import t from 'tap'
import { attackAll } from './attacks.js'
import { sandboxStores } from './sandbox-stores.js'

t.setTimeout(300_000)
t.test('attacks on the sandbox', async t => {
  t.setTimeout(300_000)
  await attackAll(t, await sandboxStores(t))
})
