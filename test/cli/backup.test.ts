import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config/load.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { toKnownPlans } from '../../src/control-plane/store/organizations.js'
import { runCommand } from './command.js'

t.test(
  'a backup that is made while the database is open has every organization, and only its owner can read it',
  async t => {
    const folder = t.testdir()
    const environment = { CLINIGATE_DATA: join(folder, 'data') }
    await runCommand(environment, 'orgs', 'create', '--name', 'Clinic', '--plan', 'pro')
    const store = await openControlStore({
      file: join(folder, 'data', 'control.db'),
      ...toKnownPlans(loadConfig(environment).plans),
      now: () => new Date()
    })
    t.teardown(() => store.close())
    const { code, out, err } = await runCommand(environment, 'backup', '--to', join(folder, 'copies'))
    t.equal(err, '')
    t.equal(code, 0)
    const { file, alsoNeeded } = JSON.parse(out) as { file: string; alsoNeeded: string[] }
    t.match(alsoNeeded.join('\n'), /FHIR server[^]*cursor\.secret[^]*webhooks\.secret/)
    t.equal(readdirSync(join(folder, 'copies')).length, 1)
    t.equal(statSync(file).mode & 0o777, 0o600)
    mkdirSync(join(folder, 'restored'))
    renameSync(file, join(folder, 'restored', 'control.db'))
    t.match((await runCommand({ CLINIGATE_DATA: join(folder, 'restored') }, 'orgs', 'list')).out, 'Clinic')
  }
)

t.test('a backup of PostgreSQL, or of a missing database, is rejected with what to do', async t => {
  const folder = t.testdir()
  const to = join(folder, 'copies')
  t.match(await runCommand({ CLINIGATE_DATA: folder }, 'backup', '--to', to), { code: 1, err: /no control database/ })
  t.match(
    await runCommand({ CLINIGATE_DATA: folder, CONTROL_DATABASE_URL: 'postgres://localhost/x' }, 'backup', '--to', to),
    { code: 1, err: /pg_dump/ }
  )
})
