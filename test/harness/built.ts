import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/**
 * Builds the program into a folder of its own: `dist` may be being built by another test.
 * In a run of many files they share what the first one built, in the folder that test/run.js names by TEST_BUILT.
 * @returns the path of `main.js`
 */
export function buildMain (): string {
  const folder = process.env.TEST_BUILT ?? createProcessFolder()
  const built = join(folder, 'built')
  if (!existsSync(built)) putAt(built, build(mkdtempSync(join(folder, 'unfinished-'))))
  return join(built, 'dist', 'main.js')
}

/** What a process of the built program needs of the environment of this one. */
export function getProcessEnvironment (): Record<string, string> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env
  return { PATH, HOME, ...NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE } }
}

function createProcessFolder (): string {
  mkdirSync(join(root, '.tap'), { recursive: true })
  // Below the root, where the packages are found.
  const folder = mkdtempSync(join(root, '.tap', 'built-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function build (folder: string): string {
  const output = ['--outDir', join(folder, 'dist'), '--noCheck', '--incremental', 'false', '--tsBuildInfoFile', 'null']
  execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', root, ...output], {
    stdio: 'inherit'
  })
  for (const name of ['package.json', 'config']) cpSync(join(root, name), join(folder, name), { recursive: true })
  cpSync(
    join(root, 'src', 'control-plane', 'dashboard', 'assets'),
    join(folder, 'dist', 'control-plane', 'dashboard', 'assets'),
    { recursive: true }
  )
  return folder
}

/** Two test files may build at a time: the one that is done later uses what the other one built. */
function putAt (built: string, folder: string): void {
  try {
    renameSync(folder, built)
  } catch (error) {
    if (!existsSync(built)) throw error
    rmSync(folder, { recursive: true })
  }
}
