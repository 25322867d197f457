/** Installs the Python programs that tests run below node_modules, and again when their versions change. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** The environments, each named after its folder, with the folders of tests whose programs it has. */
const environments = { python: ['fuzz', 'third-party-clients', 'webhooks'], sekmet: ['servers'] }

/**
 * The folder of the programs, `python` among them, installed where they are not yet.
 * @param {{ log: (line: string) => void, environment?: keyof typeof environments }} options a FHIR server needs other
 * versions than the clients
 * @returns {Promise<string | undefined>} undefined, with a line in the log that says why, where they cannot be
 * installed
 */
export async function installPython ({ log, environment = 'python' }) {
  const folder = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', environment)
  const requirements = environments[environment].map(name => join(import.meta.dirname, '..', name, 'requirements.txt'))
  const marker = join(folder, 'installed.txt')
  const programs = join(folder, 'bin')
  const wanted = requirements.map(file => readFileSync(file, 'utf8')).join('\n')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return programs
  log('Installing the Python programs of the tests')
  rmSync(folder, { recursive: true, force: true })
  try {
    await run('python3', [
      '-c',
      'import sys, venv, ensurepip; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
    ])
    await run('python3', ['-m', 'venv', folder])
    await run(join(programs, 'python'), [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      ...requirements.flatMap(file => ['--requirement', file])
    ])
  } catch (error) {
    log(
      `Left out: the Python programs of the tests, which cannot be installed: ${error.stderr?.trim().split('\n').at(-1) || error.message}`
    )
    return undefined
  }
  writeFileSync(marker, wanted)
  return programs
}
