/** Builds a program with Maven, such as the launcher, which fetches HAPI from Maven Central the first time. */
import { execFile } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const hapi = { folder: import.meta.dirname, name: 'the HAPI launcher', megabytes: 350 }
const limitMinutes = 20

/**
 * Builds when nothing is built or the sources are newer.
 * @param {{ log: (line: string) => void, signal?: AbortSignal }} options
 * @param {{ folder: string, name: string, megabytes: number }} program its folder, and the size of the first download
 * @throws {Error} when Maven is missing, fails or takes more than 20 minutes
 */
export async function buildWhenNeeded ({ log, signal }, { folder, name, megabytes } = hapi) {
  // Written last: a build that was aborted leaves a jar, but not this.
  const markerFile = join(folder, 'target', 'built')
  if (getModifiedMs(markerFile) > getNewestSourceMs(folder)) return
  const began = Date.now()
  const formatElapsed = () => `${Math.round((Date.now() - began) / 1000)} s`
  log(`Building ${name} with Maven; the first time this fetches some ${megabytes} MB from Maven Central`)
  const progress = setInterval(() => log(`Maven is still at work after ${formatElapsed()}`), 15_000)
  try {
    await execute('mvn', ['--batch-mode', '--no-transfer-progress', '--quiet', 'package'], {
      cwd: folder,
      timeout: limitMinutes * 60_000,
      signal
    })
  } catch (error) {
    throw new Error(describeFailure(error), { cause: error })
  } finally {
    clearInterval(progress)
  }
  writeFileSync(markerFile, 'Maven came to its end.\n')
  log(`Built in ${formatElapsed()}`)
}

function describeFailure (error) {
  if (error.code === 'ENOENT') return 'mvn was not found: install Maven 3 and Java 17 or newer'
  if (error.name === 'AbortError') return 'the build was broken off'
  if (error.killed) return `Maven was not done after ${limitMinutes} minutes`
  return `Maven failed:\n${error.stdout}${error.stderr}`.trim()
}

function getNewestSourceMs (folder) {
  const sources = readdirSync(join(folder, 'src'), { recursive: true }).map(name => join(folder, 'src', name))
  return Math.max(...[join(folder, 'pom.xml'), ...sources].map(getModifiedMs))
}

function getModifiedMs (path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
