import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'

t.setTimeout(900_000)
t.test('the attacks find it when a control that keeps tenants apart is switched off', async t => {
  t.setTimeout(900_000)
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'mutants.js'), '--ci', `--hapi=${requireRealBackend().url}`],
    { stdio: ['ignore', 'pipe', 'pipe'] }
  )
  t.after(() => { child.kill() })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => { output += text })
  const [code] = await once(child, 'close')
  for (const line of output.trim().split('\n')) t.comment(line)
  t.equal(code, 0, output)
})
