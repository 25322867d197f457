import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { findFreePort } from '../harness/free-port.js'
import { runCompose, runDocker, run } from './engine.js'

const root = join(import.meta.dirname, '..', '..')
const startLimitSeconds = 400

/** The engine's description of a container. */
export interface Container {
  readonly Name: string
  readonly Config: { readonly User: string; readonly Env: readonly string[] }
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean
    readonly CapDrop: readonly string[] | null
    readonly CapAdd: readonly string[] | null
    readonly SecurityOpt: readonly string[] | null
    readonly Privileged: boolean
  }
  readonly State: {
    readonly Status: string
    readonly ExitCode: number
    readonly OOMKilled: boolean
    readonly Health?: { readonly Status: string }
  }
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>> }
}

/** One of the compose files, started as by an operator, from a copy with secrets and a port of its own. */
export interface SetUp {
  readonly url: string
  /** Runs Compose with the file. */
  readonly compose: (...args: readonly string[]) => Promise<string>
  /** The command line of clinigate in the container of a service; the JSON that it prints. */
  readonly clinigate: (service: string, ...args: readonly string[]) => Promise<Record<string, string>>
  readonly inspect: (service: string) => Promise<Container>
  readonly writeSecret: (name: string, text: string) => void
  /** The secrets that docker/secrets.sh made, by their names. */
  readonly readSecrets: () => ReadonlyMap<string, string>
}

/** Prepares a compose file; its services end with the test. Failing tests show the end of its logs. */
export async function prepare (t: Test, file: string): Promise<SetUp> {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-containers-'))
  const copy = join(folder, 'docker')
  cpSync(join(root, 'docker'), copy, { recursive: true, filter: path => basename(path) !== 'secrets' })
  await run(['sh', join(copy, 'secrets.sh')])
  const port = String(await findFreePort())
  const url = `http://127.0.0.1:${port}`
  const environment = { CLINIGATE_PORT: port, PUBLIC_URL: url }
  const project = `clinigate-test-${port}`
  const runInProject = async (...args: readonly string[]): Promise<string> =>
    await runCompose(['--project-name', project, '--file', join(copy, file), ...args], { environment })
  t.after(async () => {
    if (!t.passing()) console.error(await runInProject('logs', '--no-color', '--tail', '25').catch(String))
    await runInProject('down', '--volumes', '--timeout', '5')
    rmSync(folder, { recursive: true, force: true })
  })
  const secrets = join(copy, 'secrets')
  return {
    url,
    compose: runInProject,
    clinigate: async (service, ...args) => JSON.parse(
      await runInProject('exec', '-T', service, '/nodejs/bin/node', 'dist/operator/cli/index.js', ...args) || '{}'
    ),
    inspect: async service => {
      const [id] = (await runInProject('ps', '--all', '--quiet', service)).trim().split('\n')
      return (JSON.parse(await runDocker('inspect', id!)) as [Container])[0]
    },
    writeSecret: (name, text) => writeFileSync(join(secrets, name), text, { mode: 0o644 }),
    readSecrets: () => new Map(readdirSync(secrets).map(name => [name, readFileSync(join(secrets, name), 'utf8')]))
  }
}

/**
 * Starts all services from the existing images.
 * @returns the seconds until each service that has a health check was healthy
 * @throws {Error} with the services that are not healthy in time
 */
export async function bringUp ({ compose, inspect }: SetUp): Promise<ReadonlyMap<string, number>> {
  const began = Date.now()
  await compose('up', '--no-build', '--detach')
  const services = (await compose('config', '--services')).trim().split('\n')
  const times = new Map<string, number>()
  const waiting = new Set(services)
  while (waiting.size > 0) {
    for (const service of waiting) {
      const { State } = await inspect(service)
      const isUp = State.Health === undefined ? State.Status === 'running' : State.Health.Status === 'healthy'
      if (!isUp) continue
      waiting.delete(service)
      if (State.Health !== undefined) times.set(service, (Date.now() - began) / 1_000)
    }
    if (Date.now() - began > startLimitSeconds * 1_000) throw new Error(`not healthy: ${[...waiting].join(', ')}`)
    await pause(500)
  }
  return times
}

/** Waits until the gateway reports that all its parts work, its datastores among them. */
export async function waitUntilHealthy (url: string): Promise<void> {
  for (const deadline = Date.now() + startLimitSeconds * 1_000; ; await pause(500)) {
    const health = await fetch(`${url}/health`).then(async response => await response.json(), () => undefined) as
      { readonly status?: string } | undefined
    if (health?.status === 'ok') return
    if (Date.now() > deadline) throw new Error(`the gateway is not well: ${JSON.stringify(health).slice(0, 1_000)}`)
  }
}

/** The restrictions of all containers but PostgreSQL's: its official image changes from root to its own user. */
export async function requireHardened (t: Test, setUp: SetUp, services: readonly string[]): Promise<void> {
  for (const service of services) {
    const { Config, HostConfig } = await setUp.inspect(service)
    t.match(HostConfig, { ReadonlyRootfs: true, Privileged: false }, service)
    t.strictSame([HostConfig.CapDrop, HostConfig.CapAdd ?? []], [['ALL'], []], service)
    t.ok(HostConfig.SecurityOpt?.includes('no-new-privileges:true'), service)
    t.notMatch(Config.User, /^(0|root)?(:|$)/, `${service} does not run as root`)
  }
}

/** Neither the engine's description of the containers nor their output contains a secret of a file. */
export async function requireSecretsHidden (t: Test, setUp: SetUp): Promise<void> {
  const ids = (await setUp.compose('ps', '--all', '--quiet')).trim().split('\n')
  const outputs = {
    'docker inspect': await runDocker('inspect', ...ids),
    'the logs': await setUp.compose('logs', '--no-color'),
    'the history of the image': await runDocker('history', '--no-trunc', 'clinigate')
  }
  const secrets = setUp.readSecrets()
  t.ok(secrets.size > 5)
  for (const [where, text] of Object.entries(outputs)) {
    t.ok(text.length > 100, where)
    for (const [name, secret] of secrets) t.notOk(text.includes(secret), `${name} is not in ${where}`)
  }
}

/** Prints a line among the results of the run. */
export const printLine = (line: string): void => console.error(`  ${line}`)
