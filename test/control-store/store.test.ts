import t from 'tap'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { hashSecret } from '../../src/keys/secret.js'
import { makeFileDatabase, makeInMemoryDatabase } from './databases.js'
import { testControlStore } from './store-contract.js'

t.test('on SQLite', t => testControlStore(t, makeInMemoryDatabase))

t.test('a key\'s secret is in no file of the store, only its hash', async t => {
  const directory = join(dirname((await makeFileDatabase(t)).file), 'made')
  const store = await openControlStore({ file: join(directory, 'control.db'), plans: ['pro'], now: () => new Date() })
  t.teardown(() => store.close())
  const { tenantId } = await store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
  const { secret } = await store.keys.create({ tenantId, mode: 'live', name: 'app' }, 'ann')
  const bytes = readdirSync(directory).map(name => readFileSync(join(directory, name), 'latin1')).join()
  t.ok(bytes.includes(hashSecret(secret)))
  t.notOk(bytes.includes(secret.slice(9, 30)))
})
