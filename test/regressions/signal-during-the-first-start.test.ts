import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { buildMain } from '../harness/built.js'
import { until } from '../harness/until.js'

const main = buildMain()

// Its secrets were lost and its databases left open: the process took the signal's default.
t.test(
  'a process that is asked to end while its first start is under way finishes it, shows its secrets and closes',
  async t => {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [main], {
      env: { PATH, CLINIGATE_DATA: t.testdir(), HOST: '127.0.0.1', PORT: '0' }
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', chunk => {
      said.out += chunk
    })
    child.stderr.on('data', chunk => {
      said.err += chunk
    })
    const ended = once(child, 'close')
    t.teardown(async () => {
      child.kill('SIGKILL')
      await ended
    })
    // It listens before it makes an operator and an organization.
    await until(() => said.err.includes('Server listening'))
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
    t.match(said.out, /svc_live_\w+/)
    t.match(said.err, '"msg":"closing"')
  }
)
