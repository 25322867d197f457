import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from './config.js'
import { controlDatabaseUrl } from './config/control-secrets.js'
import { openControlStore, type ControlStore } from './control/store.js'
import { openDatastores } from './service/datastores.js'
import { openKeys, type OpenKeys } from './service/keys.js'
import { Closers } from './service/closers.js'
import { buildGateway } from './gateway.js'
import { capabilityStatements } from './gateway/capability-statement.js'
import { KeyedRequests } from './idempotency/keyed-requests.js'
import { openApiDocument } from './openapi/document.js'
import { mappings } from './mappings/registry.js'
import { passthrough } from './passthrough/routes.js'
import { resources } from './resources/routes.js'
import { guardedStores } from './service/guarded-stores.js'

/** What the process gives to the service. */
export interface ServiceParts {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
}

/** Everything that one process runs, ready to listen. */
export interface Service {
  readonly app: FastifyInstance
  readonly control: ControlStore
  readonly keys: OpenKeys
  /** Names of the datastores that are sandboxes: for trying out only. */
  readonly sandboxes: readonly string[]
  /** Answers what is under way and lets go of everything, in the reverse order of its opening. */
  readonly close: () => Promise<void>
}

/** Opens everything, downwards: the control store, the copy of the keys, the datastores, the gateway. No datastore need answer. */
export async function openService (config: Config, parts: ServiceParts): Promise<Service> {
  const closers = new Closers()
  try {
    return await open(config, parts, closers)
  } catch (error) {
    await closers.close()
    throw error
  }
}

async function open (config: Config, { environment, version, now, log }: ServiceParts, closers: Closers): Promise<Service> {
  mkdirSync(config.dataDirectory, { recursive: true, mode: 0o700 })
  const control = closers.add(await openControlStore({ file: join(config.dataDirectory, 'control.db'), url: controlDatabaseUrl(config, environment), plans: Object.keys(config.plans), now }))
  const keys = closers.add(openKeys(config, { control, now, log }))
  const datastores = await openDatastores(config, { environment, now }, closers)
  if (datastores.sandboxes.length > 0) log.warn({ datastores: datastores.sandboxes }, 'these datastores are embedded sandboxes, for trying out and never for real records')
  const keyedRequests = closers.add(new KeyedRequests({ file: join(config.dataDirectory, 'idempotency.db'), now }))
  const url = config.publicUrl ?? `http://${config.host}:${config.port}`
  const storeFor = guardedStores(config, datastores, { url, now })
  const statements = capabilityStatements(mappings, { version, url, date: now() })
  const app = closers.add(await buildGateway({
    logger: log,
    now,
    version,
    plans: config.plans,
    bodyBytes: config.limits.bodyBytes,
    authenticate: keys.authenticate,
    checks: { keys: keys.check, ...datastores.checks },
    capabilityStatement: statements.whole,
    fhirStatement: statements.fhir,
    document: () => openApiDocument(mappings, { version, url: config.publicUrl ?? '/' }),
    fhir: scope => passthrough(scope, { storeFor, url, bodyBytes: config.limits.bundleBytes }),
    routes: [scope => resources(scope, { mappings, storeFor, keyedRequests, now, url, newUrl: () => `${url}/canonical/${randomUUID()}` })]
  }))
  return { app, control, keys, sandboxes: datastores.sandboxes, close: () => closers.close() }
}
