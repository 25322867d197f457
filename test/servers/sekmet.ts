/** SEKMET, a FHIR R4 server in Python. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../harness/free-port.js'
import { installPython } from '../harness/python.js'
import { startServer, type RunningServer } from './server-process.js'

/**
 * The folder of its programs, `sekmet` among them.
 * @throws {Error} when it cannot be installed
 */
export async function installSekmet (log: (line: string) => void): Promise<string> {
  const programs = await installPython({ log, environment: 'sekmet' })
  if (programs === undefined) throw new Error('SEKMET cannot be installed: pip and Python 3.11 or newer are needed')
  return programs
}

/**
 * Installs the server where it is missing, starts it on a free port and waits until it serves.
 * @param log receives lines about the progress
 * @throws {Error} when it cannot be installed or does not come up; no process is left then
 */
export async function startSekmet (log: (line: string) => void): Promise<RunningServer> {
  const programs = await installSekmet(log)
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-sekmet-'))
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}/fhir`
  const file = join(folder, 'settings.yaml')
  // YAML includes JSON. Nothing is validated, since tests store resources that no gateway would; it writes nothing by
  // itself.
  writeFileSync(file, JSON.stringify({
    base_url: url,
    data_dir: folder,
    log_inbound: false,
    simulator: { enabled: false },
    validation: { inbound: 'off' }
  }))
  return await startServer({
    name: 'SEKMET',
    command: [join(programs, 'sekmet'), 'serve', '--config', file, '--host', '127.0.0.1', '--port', String(port)],
    folder,
    url
  })
}
