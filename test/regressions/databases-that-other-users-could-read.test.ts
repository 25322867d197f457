import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config/load.js'
import { openService } from '../../src/bootstrap/service.js'

const modesIn = (directory: string) =>
  Object.fromEntries(
    readdirSync(directory)
      .filter(name => /\.db(?:-|$)/.test(name))
      .map(name => [name, (statSync(join(directory, name)).mode & 0o777).toString(8)])
  )

// A directory that the operator or a service manager had made is often open to all, and control.db holds the key of
// bulk files and password hashes.
t.test('databases are their user\'s alone in a data directory that all may enter, also those made before', async t => {
  const CLINIGATE_DATA = t.testdir()
  chmodSync(CLINIGATE_DATA, 0o755)
  const previous = process.umask(0o022)
  t.teardown(() => process.umask(previous))
  const { pino } = await import('pino')
  const open = () =>
    openService(loadConfig({ CLINIGATE_DATA, PORT: '0' }), {
      environment: {},
      version: '0',
      logsCapabilities: false,
      now: () => new Date(),
      log: pino({ level: 'silent' })
    })
  for (const round of ['new', 'made before']) {
    const service = await open()
    const modes = modesIn(CLINIGATE_DATA)
    for (const name of ['control', 'keys', 'usage', 'idempotency', 'sandbox-test']) {
      t.equal(modes[`${name}.db`], '600', `${round}: ${name}`)
    }
    t.strictSame([...new Set(Object.values(modes))], ['600'], `${round}, with their logs`)
    await service.close()
    for (const name of Object.keys(modesIn(CLINIGATE_DATA))) chmodSync(join(CLINIGATE_DATA, name), 0o644)
  }
})
