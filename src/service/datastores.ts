import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { authorizationOf } from '../backends/authentication.js'
import type { Backend } from '../backends/backend.js'
import { HttpBackend } from '../backends/http-backend.js'
import { routing, type Owner } from '../backends/routing.js'
import type { Config, DatastoreConfig } from '../config.js'
import { readCredentials } from '../config/credentials.js'
import type { Environment } from '../config/environment.js'
import type { Check } from '../gateway/health.js'
import { startSandbox } from '../sandbox/sandbox.js'
import type { Closers } from './closers.js'

/** The FHIR servers behind the gateway, sandboxes included. */
export interface OpenDatastores {
  readonly backendFor: (owner: Owner) => Backend
  readonly checks: Readonly<Record<string, () => Promise<Check>>>
  /** Names of those that are sandboxes. */
  readonly sandboxes: readonly string[]
}

interface DatastoreParts { readonly environment: Environment, readonly now: () => Date }

/** Gives every configured datastore a client, and starts a sandbox in the data directory where test or live has none. */
export async function openDatastores (config: Config, { environment, now }: DatastoreParts, closers: Closers): Promise<OpenDatastores> {
  const { datastores, routing: { test, live, dedicated }, dataDirectory } = config
  const backends: Record<string, Backend> = {}
  for (const [name, datastore] of Object.entries(datastores)) backends[name] = closers.add(clientOf(name, datastore, environment))
  const sandboxes = [...new Set([test, live])].filter(name => !Object.hasOwn(datastores, name))
  for (const name of sandboxes) {
    const sandbox = closers.add(await startSandbox({ file: join(dataDirectory, `sandbox-${name}.db`), now }))
    backends[name] = closers.add(new HttpBackend({ name, baseUrl: sandbox.url }))
  }
  return {
    backendFor: routing({ datastores: backends, plans: Object.keys(config.plans), test, live, dedicated }),
    checks: checksOf(backends, config.routing),
    sandboxes
  }
}

function clientOf (name: string, { url, auth, caFile, ...bounds }: DatastoreConfig, environment: Environment): HttpBackend {
  const credentials = readCredentials(auth, environment)
  if ('mistake' in credentials) throw new Error(`datastores.${name}.auth: ${credentials.mistake}`)
  return new HttpBackend({ name, baseUrl: url, authorization: authorizationOf(credentials), ...bounds, ...(caFile ? { ca: readFileSync(caFile, 'utf8') } : {}) })
}

/** By what they serve, because the names of dedicated datastores may be those of customers, and anybody may ask for the health. */
function checksOf (backends: Readonly<Record<string, Backend>>, { test, live, dedicated }: Config['routing']): OpenDatastores['checks'] {
  const own = [...new Set(Object.values(dedicated))]
  return {
    testDatastore: () => checkOf([backends[test]!]),
    liveDatastore: () => checkOf([backends[live]!]),
    ...(own.length > 0 ? { dedicatedDatastores: () => checkOf(own.map(name => backends[name]!)) } : {})
  }
}

async function checkOf (backends: readonly Backend[]): Promise<Check> {
  const answers = await Promise.all(backends.map(backend => backend.probe()))
  return { status: answers.every(Boolean) ? 'ok' : 'degraded' }
}
