import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { InjectOptions, LightMyRequestResponse as Response } from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import { loadConfig } from '../../src/config/load.js'
import { buildLogOptions } from '../../src/http/log.js'
import type { Scope } from '../../src/keys/caller.js'
import type { Mode } from '../../src/config/mode.js'
import { openService, type Service } from '../../src/bootstrap/service.js'
import './quick-passwords.js'

/** The options of a test's gateway. */
export interface GatewaySettings {
  /** The FHIR server of test and live keys; absent: two sandboxes. */
  readonly fhirUrl?: string
  /** In place of the shipped plans. */
  readonly plans?: Readonly<
    Record<string, { requestsPerMinute: number | null; requestsPerMonth: number | null; overage: boolean }>
  >
  /** Anything else of the configuration file. */
  readonly config?: Readonly<Record<string, unknown>>
  readonly environment?: Readonly<Record<string, string>>
  readonly now?: () => Date
}

/** A key to make: for a new organization unless `tenantId` says another. */
interface KeyOptions {
  readonly tenantId?: string
  readonly plan?: string
  readonly mode?: Mode
  readonly scopes?: readonly Scope[]
  readonly expiresAt?: Date
}

/** A whole gateway in this process, which listens on a free port of loopback and closes itself with the test. */
export interface TestGateway extends Pick<Service, 'app' | 'close'> {
  readonly control: NonNullable<Service['control']>
  readonly url: string
  /** The folder of its databases. */
  readonly dataDirectory: string
  readonly inject: Service['app']['inject']
  /** Every line of the log so far. */
  readonly logged: () => ReadonlyArray<Record<string, unknown>>
  /** The lines of the log since the last call, as they were written. */
  readonly readNewLines: () => readonly string[]
  /** @returns the tenant id */
  readonly createOrganization: (plan?: string) => Promise<string>
  /** The key is valid at this gateway when the promise resolves. */
  readonly createKey: (
    request?: KeyOptions
  ) => Promise<{ readonly tenantId: string; readonly keyId: string; readonly secret: string }>
  /** Resolves when the gateway knows of every key and organization that was changed so far. */
  readonly catchUp: () => Promise<void>
}

/** Whose end closes the gateway: a test, or a program that attacks it. */
type GatewayOwner = Pick<Test, 'after'> & Partial<Pick<Test, 'passing'>>

/** Starts the whole service: real stores, real keys, real guard, and a FHIR server of the test's choice. */
export async function startGateway (t: GatewayOwner, settings: GatewaySettings = {}): Promise<TestGateway> {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
  const lines: string[] = []
  const sink = new Writable({ write (chunk, _, done) { lines.push(String(chunk)); done() } })
  const environment = buildEnvironment(directory, settings)
  const service = await openService(loadConfig(environment), {
    environment,
    version: '0.0.0-test',
    now: settings.now ?? (() => new Date()),
    log: pino(buildLogOptions('trace'), sink)
  })
  const { inject, refused } = observeResponses(service.app, settings)
  t.after(async () => {
    if (t.passing?.() === false) refused.forEach(message => console.error(message))
    await service.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  let seen = 0
  const readNewLines = (): string[] => {
    const fresh = lines.slice(seen)
    seen = lines.length
    return fresh
  }
  const { control } = service
  if (control === undefined) throw new Error('a gateway of a test makes its keys itself, so its role is all')
  return {
    ...createTestGateway({ ...service, control }),
    url,
    dataDirectory: join(directory, 'data'),
    inject,
    logged: () => lines.map(line => JSON.parse(line)),
    readNewLines
  }
}

/**
 * A failed test seldom shows the gateway's own error: an envelope without data is no list.
 * @returns `refused`: the last error responses to `inject`, to be shown where a test fails
 */
function observeResponses (
  app: Service['app'],
  { fhirUrl }: GatewaySettings
): { inject: Service['app']['inject'], refused: readonly string[] } {
  // Only what comes of the real server that all test files share.
  const attempts = fhirUrl !== undefined && fhirUrl === process.env.TEST_FHIR_URL ? 4 : 1
  const refused: string[] = []
  const inject = async (request: InjectOptions | string) => {
    const { method = 'GET', url } = typeof request === 'string' ? { url: request } : request
    const response = await sendWithRetry(() => app.inject(request), attempts)
    const { statusCode, body } = response
    if (statusCode >= 400) {
      refused.push(`${method} ${String(url)} was answered ${statusCode} ${body.slice(0, 1_000)}`)
      refused.splice(0, refused.length - 5)
    }
    return response
  }
  return { inject: inject as Service['app']['inject'], refused }
}

/**
 * Sends again, as the response says, while the datastore is unavailable: a server that many test files load may pause
 * for so long that the gateway opens its circuit.
 */
async function sendWithRetry (send: () => Promise<Response>, attempts: number): Promise<Response> {
  for (let left = attempts - 1; ; left--) {
    const response = await send()
    if (left === 0 || response.statusCode !== 503 || !response.body.includes('"BACKEND_UNAVAILABLE"')) return response
    await pause(Number(response.headers['retry-after']) * 1_000)
  }
}

function createTestGateway ({
  app,
  control,
  catchUp,
  close
}: Service & Pick<TestGateway, 'control'>): Omit<
  TestGateway,
  'url' | 'dataDirectory' | 'inject' | 'logged' | 'readNewLines'
> {
  const createOrganization = async (plan = 'pro') =>
    (await control.organizations.create({ name: 'a test organization', plan }, 'test')).tenantId
  return {
    app,
    control,
    close,
    catchUp,
    createOrganization,
    createKey: async ({ tenantId, plan, mode = 'test', scopes, expiresAt } = {}) => {
      const owner = tenantId ?? (await createOrganization(plan))
      const { keyId, secret } = await control.keys.create(
        { tenantId: owner, mode, name: 'a test key', scopes, expiresAt },
        'test'
      )
      await catchUp()
      return { tenantId: owner, keyId, secret }
    }
  }
}

/** Tests send many requests at a time, to servers that are slow. */
const manyAtOnce = { inFlightPerOrganization: 10_000 }

/** The gateway shares its process with the test and the machine with many others. */
const neverTooMuch = { eventLoopDelayMs: null, heapPercent: null }

function buildEnvironment (
  directory: string,
  { fhirUrl, plans, config, environment }: GatewaySettings
): Record<string, string> {
  const writeJson = (name: string, content: unknown) => {
    writeFileSync(join(directory, name), JSON.stringify(content))
    return join(directory, name)
  }
  return {
    CLINIGATE_DATA: join(directory, 'data'),
    ...(fhirUrl ? { FHIR_TEST_URL: fhirUrl, FHIR_LIVE_URL: fhirUrl } : {}),
    ...(plans ? { CLINIGATE_PLANS: writeJson('plans.json', plans) } : {}),
    CLINIGATE_CONFIG: writeJson('config.json', {
      overload: neverTooMuch,
      ...config,
      // A thread has the clock of the machine, a log on standard error, and an audit log of its own.
      bulk: { thread: false, ...config?.bulk as object },
      limits: { ...manyAtOnce, ...(config?.limits as object) }
    }),
    ...environment
  }
}
