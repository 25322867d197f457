import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { readBlock, root } from '../e2e/document.js'

t.test('the examples of the README work unchanged', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  // Inside the package, so that it finds the client by its name.
  const parent = join(root, '.tap')
  mkdirSync(parent, { recursive: true })
  const directory = mkdtempSync(join(parent, 'readme-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const program = join(directory, 'program.mjs')
  writeFileSync(program, readBlock('README.md', 'ts client').replace('http://127.0.0.1:8080', url))
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env: { ...process.env, KEY: secret } })
  t.equal(stdout, 'Ada Byron\n')
})
