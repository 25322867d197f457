import { execFile, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { buildMain } from '../harness/built.js'
import { findFreePort } from '../harness/free-port.js'
import { startPostgres } from '../harness/postgres.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { createTemporaryDirectory } from '../sync/control-plane.js'
import { readBlock } from './document.js'

const run = promisify(execFile)

interface Shell { readonly cwd: string, readonly env: NodeJS.ProcessEnv }

/** A folder in which `npx clinigate` is the command that was just built: npx itself would build it again. */
function createShell (t: Test): Shell {
  const cwd = createTemporaryDirectory(t)
  const npx = join(cwd, 'bin', 'npx')
  mkdirSync(dirname(npx))
  writeFileSync(
    npx,
    `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(dirname(buildMain()), 'operator', 'cli', 'index.js')}" "$@"\n`
  )
  chmodSync(npx, 0o755)
  return { cwd, env: { HOME: process.env.HOME, PATH: `${dirname(npx)}:${process.env.PATH}` } }
}

/** Types commands into a shell, which ends with the test and with all processes it started. */
function runInShell (t: Test, commands: string, { cwd, env }: Shell): { out: string, err: string } {
  const output = { out: '', err: '' }
  const bash = spawn('bash', ['-c', `${commands}\nwait`], { cwd, env, detached: true })
  bash.stdout.on('data', chunk => { output.out += chunk })
  bash.stderr.on('data', chunk => { output.err += chunk })
  t.after(() => {
    // All of them may have ended by themselves.
    if (bash.exitCode === null) process.kill(-bash.pid!, 'SIGKILL')
  })
  return output
}

t.setTimeout(600_000)

t.test('the README\'s commands run one control plane on PostgreSQL and two gateways', async t => {
  const [controlPort, ...gatewayPorts] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const database = await (await startPostgres(t)).createDatabase()
  const sandbox = await startTestSandbox(t)
  const shell = createShell(t)

  const control = runInShell(t, readBlock('README.md', 'sh control').replace('postgres://localhost:5432/clinigate', database), {
    ...shell,
    env: { ...shell.env, PORT: String(controlPort) }
  })
  await waitUntil(() => /"secret":"cg_gateway_\w+"/.test(control.out) && /svc_test_\w+/.test(control.out))
  const token = /cg_gateway_\w+/.exec(control.out)![0]
  const key = /svc_test_\w+/.exec(control.out)![0]
  t.match(control.out, `The dashboard is at http://127.0.0.1:${controlPort}/dashboard`)

  const gateways = runInShell(
    t,
    readBlock('README.md', 'sh gateways')
      .replace('8080', String(controlPort))
      .replace('8081', String(gatewayPorts[0]))
      .replace('8082', String(gatewayPorts[1]))
      .replace('cg_gateway_…', token)
      .replaceAll(/(FHIR_\w+_URL)=…/g, `$1=${sandbox.url}`),
    shell
  )
  await waitUntil(() => gateways.out.match(/listens on/g)?.length === 2).catch(error => {
    t.comment(gateways.out + gateways.err)
    throw error
  })
  const fetchStatus = async (port: number | undefined) =>
    (await fetch(`http://127.0.0.1:${port}/v1/patients`, { headers: { 'x-api-key': key } })).status
  for (const port of gatewayPorts) await waitUntil(async () => await fetchStatus(port) === 200)

  const operator = { ...shell, env: { ...shell.env, CLINIGATE_DATA: 'data/control', CONTROL_DATABASE_URL: database } }
  const runCommand = async (...args: string[]) => JSON.parse((await run('npx', ['clinigate', ...args], operator)).stdout)
  const listGateways = async () =>
    (await runCommand('gateways')).map(({ name, isConnected }: Record<string, unknown>) => [name, isConnected]) as Array<
      [string, boolean]
    >
  await waitUntil(async () => (await listGateways()).filter(([, isConnected]) => isConnected).length === 2)
  t.strictSame(await listGateways(), [['gateway-1', true], ['gateway-2', true]])
  const [{ tenantId }] = await runCommand('orgs', 'list')
  const [{ keyId }] = await runCommand('keys', 'list', '--tenant', tenantId)
  await runCommand('keys', 'revoke', keyId)
  for (const port of gatewayPorts) await waitUntil(async () => await fetchStatus(port) === 401)
  for (const secret of [token, key, database]) t.notMatch(control.err + gateways.err, secret)
})
