import t from 'tap'
import { attackAll } from './attacks.js'
import { attacks } from './attacks/index.js'
import { startSandboxStores } from './sandbox-stores.js'

t.setTimeout(300_000)
t.test('attacks on the sandbox', async t => {
  t.setTimeout(300_000)
  await attackAll(t, await startSandboxStores(t))
})

t.test('long searches on a sandbox that reads only the form of a search by form', async t => {
  const { 'form searches': formSearches = [], joins = [] } = attacks
  await attackAll(t, await startSandboxStores(t, { formSearches: 'form alone' }), { formSearches, joins })
})

t.test('attacks on a sandbox that shows references with its base URL', async t => {
  t.setTimeout(300_000)
  await attackAll(t, await startSandboxStores(t, { shownReferences: 'absolute' }))
})
