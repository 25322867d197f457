import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { readCommands, root } from './document.js'
import { startProcess } from './process.js'

const run = promisify(execFile)

/**
 * The steps of a newcomer: starts the gateway, takes the key that it prints, and runs the README's commands unchanged.
 */
export async function followReadme (t: Test, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  await runReadme(t, await startGateway(t, environment))
}

/** Runs the README's commands against a gateway that was started. */
export async function runReadme (t: Test, gateway: Gateway): Promise<void> {
  await t.test('the commands of the quickstart get 201, 200, 200, 200, 200', async t => {
    const env = { ...process.env, KEY: gateway.key, URL: gateway.url, ID: '' }
    const statuses: string[] = []
    for (const command of readCommands('README.md', 'sh quickstart', 'curl')) {
      const { stdout } = await run('bash', ['-c', command], { env })
      statuses.push(/^HTTP\/1\.1 (\d{3})/.exec(stdout)?.[1] ?? stdout)
      env.ID ||= JSON.parse(stdout.slice(stdout.indexOf('{'))).data.id
      if (command.includes('lastName=')) {
        t.match(
          JSON.parse(stdout.slice(stdout.indexOf('{'))).data,
          { total: 1, data: [{ id: env.ID }] },
          'the search finds the patient'
        )
      }
    }
    t.strictSame(statuses, ['201', '200', '200', '200', '200'])
  })
  await t.test('the commands of a bulk import get a result for each line, and an export starts', t => testBulk(t, gateway))
  await t.test('organizations and keys are created while the gateway runs, and a revoked key is rejected soon', t =>
    administrate(t, gateway)
  )
}

async function testBulk (t: Test, { url, key }: Gateway): Promise<void> {
  const [write, start, look, results, exported] = readCommands('README.md', 'sh bulk').filter(
    command => !command.startsWith('export')
  )
  const options = { cwd: t.testdir(), env: { ...process.env, KEY: key, URL: url, JOB: '' } }
  const runShell = async (command: string): Promise<string> => (await run('bash', ['-c', command], options)).stdout
  await runShell(write!)
  options.env.JOB = JSON.parse(await runShell(start!)).data.jobId
  const isCompleted = async (): Promise<number> => JSON.parse(await runShell(look!)).data.status === 'completed' ? 1 : 0
  t.equal(await waitForValue(isCompleted, 1), 1)
  t.match(
    (await runShell(results!))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
    [
      { line: 1, status: 'created' },
      { line: 2, status: 'failed', field: 'lastName' }
    ]
  )
  t.match(JSON.parse(await runShell(exported!)), { data: { status: 'pending' }, meta: { status: 202 } })
}

async function administrate (t: Test, gateway: Gateway): Promise<void> {
  const [createOrganization, createKey, createLimitedKey, revokeKey, printBill] =
    readCommands('README.md', 'sh administration', 'npx')
  const { tenantId = '' } = await gateway.command(createOrganization!)
  const { keyId = '', secret = '' } = await gateway.command(createKey!.replace('<tenantId>', tenantId))
  const fetchStatus = async (path: string, key: string): Promise<number> =>
    (await fetch(`${gateway.url}/v1/${path}`, { headers: { 'x-api-key': key } })).status
  const fetchKeyStatus = (): Promise<number> => fetchStatus('patients', secret)
  t.equal(await waitForValue(fetchKeyStatus, 200), 200)
  const limited = await gateway.command(createLimitedKey!.replace('<tenantId>', tenantId))
  t.equal(await waitForValue(() => fetchStatus('patients', limited.secret!), 200), 200)
  t.equal(await fetchStatus('encounters', limited.secret!), 403)
  await gateway.command(revokeKey!.replace('<keyId>', keyId))
  t.equal(await waitForValue(fetchKeyStatus, 401), 401)
  t.match(await gateway.command(printBill!.replace('<tenantId>', tenantId)), {
    tenantId,
    month: '2030-01',
    amount: '0.000'
  })
}

/** A gateway that a newcomer has in front of them. */
interface Gateway {
  readonly url: string
  readonly key: string
  /** Runs a command of the README that begins with npx and reads the JSON that it prints. */
  readonly command: (line: string) => Promise<Record<string, string>>
}

async function startGateway (t: Test, environment: Readonly<Record<string, string>>): Promise<Gateway> {
  const { env, ...gateway } = await startProcess(t, {
    command: [process.execPath, 'dist/main.js'],
    cwd: root,
    environment
  })
  return {
    ...gateway,
    // The package's own command, without npx, which would build the package again while other tests use it.
    command: async line =>
      JSON.parse(
        (await run(process.execPath, [join(root, 'dist/operator/cli/index.js'), ...line.split(' ').slice(2)], { env }))
          .stdout || '{}'
      )
  }
}

async function waitForValue (getValue: () => Promise<number>, wanted: number): Promise<number> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const value = await getValue()
    if (value === wanted) return value
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return await getValue()
}
