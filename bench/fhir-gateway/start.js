// google/fhir-gateway without its checks, as a peer. Maven fetches it into `target` the first time.
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { buildWhenNeeded } from '../../test/hapi/maven.js'
import { findFreePort, run, waitUntilUp } from '../processes.js'

const program = { folder: import.meta.dirname, name: 'google/fhir-gateway', megabytes: 70 }
const target = join(program.folder, 'target')

/** Every request is allowed before its token is read. */
const toAllowedQuery = path => ({ path, queryParams: {}, allowExtraParams: true, allowUnauthenticatedRequests: true })
const queries = { entries: ['', 'Patient/ANY_VALUE', 'Observation/ANY_VALUE'].map(toAllowedQuery) }

/**
 * Builds the gateway when needed, and starts it in front of a FHIR server.
 * @returns its base URL and its process id
 */
export async function startFhirGateway (upstream) {
  await buildWhenNeeded({ log: console.error }, program)
  const file = join(mkdtempSync(join(tmpdir(), 'fhir-gateway-')), 'allowed.json')
  process.once('exit', () => rmSync(join(file, '..'), { recursive: true, force: true }))
  writeFileSync(file, JSON.stringify(queries))
  const port = await findFreePort()
  const settings = {
    PROXY_TO: upstream,
    TOKEN_ISSUER: await startIssuer(),
    BACKEND_TYPE: 'HAPI',
    RUN_MODE: 'DEV',
    ACCESS_CHECKER: 'permissive',
    ALLOWED_QUERIES_FILE: file
  }
  const { pid, stdout } = run('java', [
    '-cp',
    ['fhir-gateway.jar', join('lib', '*')].map(name => join(target, name)).join(delimiter),
    'clinigate.bench.Main',
    `--server.port=${port}`,
    '--server.address=127.0.0.1',
    '--logging.level.root=ERROR'
  ], settings)
  stdout.resume()
  const url = `http://127.0.0.1:${port}/fhir`
  await waitUntilUp(`${url}/Patient/p0`)
  return { url, pid }
}

/** The gateway does not start without an issuer of tokens that publishes a key. */
async function startIssuer () {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const server = createServer((request, response) => response.end(JSON.stringify({ public_key: key })))
  server.unref()
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}
