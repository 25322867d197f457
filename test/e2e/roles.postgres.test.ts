import { execFile, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { buildMain } from '../harness/built.js'
import { freePort } from '../harness/free-port.js'
import { startPostgres } from '../harness/postgres.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { until } from '../harness/until.js'
import { temporary } from '../sync/control-plane.js'
import { blockOf } from './document.js'

const run = promisify(execFile)

interface Shell { readonly cwd: string, readonly env: NodeJS.ProcessEnv }

/** A place where `npx clinigate` is the command that was just built: npx itself would build it again. */
function shellIn (t: Test): Shell {
  const cwd = temporary(t)
  const npx = join(cwd, 'bin', 'npx')
  mkdirSync(dirname(npx))
  writeFileSync(
    npx,
    `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(dirname(buildMain()), 'operator', 'cli', 'index.js')}" "$@"\n`
  )
  chmodSync(npx, 0o755)
  return { cwd, env: { HOME: process.env.HOME, PATH: `${dirname(npx)}:${process.env.PATH}` } }
}

/** Types commands into a shell, which ends with the test and with all that it started. */
function type (t: Test, commands: string, { cwd, env }: Shell): { out: string, err: string } {
  const said = { out: '', err: '' }
  const bash = spawn('bash', ['-c', `${commands}\nwait`], { cwd, env, detached: true })
  bash.stdout.on('data', chunk => { said.out += chunk })
  bash.stderr.on('data', chunk => { said.err += chunk })
  t.after(() => {
    // All of them may have ended by themselves.
    if (bash.exitCode === null) process.kill(-bash.pid!, 'SIGKILL')
  })
  return said
}

t.setTimeout(600_000)

t.test('the README\'s commands run one control plane on PostgreSQL and two gateways', async t => {
  const [controlPort, ...gatewayPorts] = [await freePort(), await freePort(), await freePort()]
  const database = await (await startPostgres(t)).createDatabase()
  const sandbox = await startTestSandbox(t)
  const shell = shellIn(t)

  const control = type(t, blockOf('README.md', 'sh control').replace('postgres://localhost:5432/clinigate', database), {
    ...shell,
    env: { ...shell.env, PORT: String(controlPort) }
  })
  await until(() => /"secret":"cg_gateway_\w+"/.test(control.out) && /svc_test_\w+/.test(control.out))
  const token = /cg_gateway_\w+/.exec(control.out)![0]
  const key = /svc_test_\w+/.exec(control.out)![0]
  t.match(control.out, `The dashboard is at http://127.0.0.1:${controlPort}/dashboard`)

  const gateways = type(
    t,
    blockOf('README.md', 'sh gateways')
      .replace('8080', String(controlPort))
      .replace('8081', String(gatewayPorts[0]))
      .replace('8082', String(gatewayPorts[1]))
      .replace('cg_gateway_…', token)
      .replaceAll(/(FHIR_\w+_URL)=…/g, `$1=${sandbox.url}`),
    shell
  )
  await until(() => gateways.out.match(/listens on/g)?.length === 2).catch(error => {
    t.comment(gateways.out + gateways.err)
    throw error
  })
  const statusOf = async (port: number | undefined) =>
    (await fetch(`http://127.0.0.1:${port}/v1/patients`, { headers: { 'x-api-key': key } })).status
  for (const port of gatewayPorts) await until(async () => await statusOf(port) === 200)

  const operator = { ...shell, env: { ...shell.env, CLINIGATE_DATA: 'data/control', CONTROL_DATABASE_URL: database } }
  const command = async (...args: string[]) => JSON.parse((await run('npx', ['clinigate', ...args], operator)).stdout)
  const reported = async () =>
    (await command('gateways')).map(({ name, isConnected }: Record<string, unknown>) => [name, isConnected]) as Array<
      [string, boolean]
    >
  await until(async () => (await reported()).filter(([, isConnected]) => isConnected).length === 2)
  t.strictSame(await reported(), [['gateway-1', true], ['gateway-2', true]])
  const [{ tenantId }] = await command('orgs', 'list')
  const [{ keyId }] = await command('keys', 'list', '--tenant', tenantId)
  await command('keys', 'revoke', keyId)
  for (const port of gatewayPorts) await until(async () => await statusOf(port) === 401)
  for (const secret of [token, key, database]) t.notMatch(control.err + gateways.err, secret)
})
