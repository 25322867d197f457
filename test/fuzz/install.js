/** Installs the fuzzer, a Python program, where it gets in nobody's way: below node_modules, anew when its versions change. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const folder = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'fuzzer')
const requirements = join(import.meta.dirname, 'requirements.txt')
const marker = join(folder, 'installed.txt')

/**
 * The program of the fuzzer, installed where it is not yet.
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<string | undefined>} undefined, with a line in the log that says why, where it cannot be installed
 */
export async function installFuzzer ({ log }) {
  const program = join(folder, 'bin', 'schemathesis')
  const wanted = readFileSync(requirements, 'utf8')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return program
  log('Installing the fuzzer of the OpenAPI document')
  rmSync(folder, { recursive: true, force: true })
  try {
    await run('python3', ['-c', 'import sys, venv, ensurepip; assert sys.version_info >= (3, 10), "Python 3.10 or newer is needed"'])
    await run('python3', ['-m', 'venv', folder])
    await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', requirements])
  } catch (error) {
    log(`Left out: the fuzzer of the OpenAPI document, which cannot be installed: ${error.stderr?.trim().split('\n').at(-1) || error.message}`)
    return undefined
  }
  writeFileSync(marker, wanted)
  return program
}
