import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The commands of a shell block of the README that begin so, in order. */
function commands (block: RegExp, beginning: string): string[] {
  const found = block.exec(readme)?.[1]
  if (found === undefined) throw new Error(`the README has no block ${block}`)
  return found.split('\n').filter(line => line.startsWith(beginning)).map(line => line.replace(/ +#.*$/, ''))
}

const quickstart = /```sh quickstart\n([\s\S]*?)```/
const administration = /```sh administration\n([\s\S]*?)```/

/** What a newcomer does: starts the gateway, takes the key that it prints, and runs the README's commands as they stand. */
export async function followReadme (t: Test, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  const gateway = await startProcess(t, environment)
  await t.test('the commands of the quickstart give 201, 200, 200, 200, 200', async t => {
    const env = { ...process.env, KEY: gateway.key, URL: gateway.url, ID: '' }
    const statuses: string[] = []
    for (const command of commands(quickstart, 'curl')) {
      const { stdout } = await run('bash', ['-c', command], { env })
      statuses.push(/^HTTP\/1\.1 (\d{3})/.exec(stdout)?.[1] ?? stdout)
      env.ID ||= JSON.parse(stdout.slice(stdout.indexOf('{'))).data.id
      if (command.includes('lastName=')) t.match(JSON.parse(stdout.slice(stdout.indexOf('{'))).data, { total: 1, data: [{ id: env.ID }] }, 'the search finds the patient')
    }
    t.strictSame(statuses, ['201', '200', '200', '200', '200'])
  })
  await t.test('organizations and keys are made while the gateway runs, and a revoked key is refused within a second', t => administrate(t, gateway))
}

async function administrate (t: Test, gateway: Gateway): Promise<void> {
  const [createOrganization, createKey, revokeKey] = commands(administration, 'npx')
  const { tenantId = '' } = await gateway.command(createOrganization!)
  const { keyId = '', secret = '' } = await gateway.command(createKey!.replace('<tenantId>', tenantId))
  const status = async (): Promise<number> => (await fetch(`${gateway.url}/v1/patients`, { headers: { 'x-api-key': secret } })).status
  t.equal(await until(status, 200), 200)
  await gateway.command(revokeKey!.replace('<keyId>', keyId))
  await new Promise(resolve => setTimeout(resolve, 1000))
  t.equal(await status(), 401)
}

interface Gateway {
  readonly url: string
  readonly key: string
  /** Runs a command of the README that begins with npx and reads the JSON that it prints. */
  readonly command: (line: string) => Promise<Record<string, string>>
}

async function startProcess (t: Test, environment: Readonly<Record<string, string>>): Promise<Gateway> {
  const data = mkdtempSync(join(tmpdir(), 'clinigate-journey-'))
  const port = await freePort()
  const env = { ...process.env, ...environment, CLINIGATE_DATA: data, PORT: String(port) }
  const child = spawn(process.execPath, [join(root, 'dist/main.js')], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(async () => {
    await stop(child)
    rmSync(data, { recursive: true, force: true })
  })
  return {
    url: `http://127.0.0.1:${port}`,
    key: await printedKey(child),
    // The package's own command, without npx, which would build the package again while other tests use it.
    command: async line => JSON.parse((await run(process.execPath, [join(root, 'dist/cli/index.js'), ...line.split(' ').slice(2)], { env })).stdout || '{}')
  }
}

async function printedKey (child: ChildProcess): Promise<string> {
  let printed = ''
  for await (const chunk of child.stdout!) {
    printed += String(chunk)
    const key = /svc_test_\w+/.exec(printed)?.[0]
    if (key !== undefined) return key
  }
  throw new Error('the gateway ended without printing a key')
}

async function stop (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function until (ask: () => Promise<number>, wanted: number): Promise<number> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const answer = await ask()
    if (answer === wanted) return answer
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return await ask()
}

async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
