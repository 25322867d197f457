import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/**
 * Builds the program into a folder of its own, which goes with this process: `dist` may be being built by another test.
 * @returns the path of `main.js`
 */
export function buildMain (): string {
  mkdirSync(join(root, '.tap'), { recursive: true })
  // Below the root, where the packages are found.
  const folder = mkdtempSync(join(root, '.tap', 'built-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const output = ['--outDir', join(folder, 'dist'), '--noCheck', '--incremental', 'false', '--tsBuildInfoFile', 'null']
  execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', root, ...output], { stdio: 'inherit' })
  for (const name of ['package.json', 'config']) cpSync(join(root, name), join(folder, name), { recursive: true })
  cpSync(join(root, 'src', 'dashboard', 'assets'), join(folder, 'dist', 'dashboard', 'assets'), { recursive: true })
  return join(folder, 'dist', 'main.js')
}
