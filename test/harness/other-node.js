import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** @returns the executable of another version of Node, which npm installs into a folder outside the project */
export async function installNode (version) {
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(tmpdir(), `clinigate-node-${version}`)
  mkdirSync(folder, { recursive: true })
  const options = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--silent']
  await promisify(execFile)('npm', ['install', ...options, `${name}@${version}`], { cwd: folder })
  return join(folder, 'node_modules', name, 'bin', 'node')
}
