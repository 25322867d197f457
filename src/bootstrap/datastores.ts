import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { Backend } from '../backends/backend.js'
import { Breaker } from '../backends/breaker.js'
import type { Disposables, ServiceParts } from './parts.js'
import type { Authorization } from '../backends/authentication/authorization.js'
import { defaultConnections, HttpBackend } from '../backends/http-backend.js'
import { observeBackend, type Observers } from '../backends/observed-backend.js'
import { createRouting, type RoutingKey } from '../backends/routing.js'
import { TenantConcurrency } from '../backends/shares.js'
import type { Config } from '../config/schema.js'
import type { Check } from '../http/health.js'
import { startSandbox } from '../sandbox/sandbox.js'
import { logCapabilities } from './capabilities.js'
import { createCredentialsCheck, openClient, type ClientParts } from './datastore-client.js'
import { openDataFile } from './startup-errors.js'

/** The circuit breakers of the datastores, by their names. */
type CircuitBreakers = Readonly<Record<string, Breaker>>

/** Opens a breaker for each datastore, so that one that is down does not affect another. */
function openCircuits (
  backends: readonly Backend[],
  log: ServiceParts['log'],
  closers: Disposables
): CircuitBreakers {
  return Object.fromEntries(
    backends.map(backend => [
      backend.name,
      closers.add(
        new Breaker({
          probe: () => backend.probe(),
          onChange: state => {
            if (state === 'open') {
              log.error(
                { datastore: backend.name },
                'a datastore does not respond; its requests are refused until it does; clinigate doctor says why'
              )
            } else log.info({ datastore: backend.name }, 'a datastore responds again')
          }
        })
      )
    ])
  )
}

/** The FHIR servers behind the gateway, sandboxes included. */
export interface OpenDatastores {
  readonly backendFor: (owner: RoutingKey) => Backend
  readonly checks: Readonly<Record<string, () => Promise<Check>>>
  /** Of each datastore by its name, whether requests reach it now. */
  readonly circuits: CircuitBreakers
  /** Those of test and live keys. */
  readonly shared: readonly Backend[]
  /**
   * Marks a datastore, by its name, that returned data of another tenant: its health is degraded until the process is
   * restarted.
   */
  readonly onIncident: (datastore: string) => void
  /** Names of those that are sandboxes. */
  readonly sandboxes: readonly string[]
}

/** The observers see each exchange with any of them. */
interface DatastoreParts extends Omit<ClientParts, 'onAuthorization'>, Observers {}

/**
 * Opens a client for every configured datastore, and starts a sandbox in the data directory where test or live has
 * none.
 */
export async function openDatastores (config: Config,
  { log, logsCapabilities = false, ...parts }: DatastoreParts & Pick<ServiceParts, 'log' | 'logsCapabilities'>,
  closers: Disposables): Promise<OpenDatastores> {
  const { test, live, dedicated } = config.routing
  const sandboxes = listDatastoreNames(config).filter(name => isSandbox(config, name))
  if (sandboxes.length > 0) {
    log.warn({ datastores: sandboxes },
      'these datastores are embedded sandboxes, for evaluation only, never for real records')
  }
  const backends: Record<string, Backend> = {}
  const authorizations: Authorization[] = []
  for (const name of listDatastoreNames(config)) {
    backends[name] = observeBackend(
      await openDatastore(config, name, {
        ...parts,
        log,
        closers,
        onAuthorization: authorization =>
          authorizations.push(authorization)
      }),
      parts
    )
  }
  const circuits = openCircuits(Object.values(backends), log, closers)
  const external = Object.values(backends).filter(({ name }) => !isSandbox(config, name))
  if (logsCapabilities) closers.add(logCapabilities(external, log))
  const routed = createRouting({ datastores: backends, plans: Object.keys(config.plans), test, live, dedicated })
  const incidents = new Set<string>()
  const backendLookups = Object.fromEntries(
    Object.values(backends).map(backend => [backend.name, createBackendLookup(backend, config, circuits)])
  )
  return {
    backendFor: owner => backendLookups[routed(owner).name]!(owner.tenantId),
    onIncident: name => {
      incidents.add(name)
    },
    checks: {
      ...createDatastoreChecks(backends, config.routing, { circuits, incidents }),
      ...usesCredentials(config) && { datastoreCredentials: createCredentialsCheck(authorizations) }
    },
    circuits,
    shared: [...new Set([test, live])].map(name => backends[name]!),
    sandboxes
  }
}

/** Organizations whose client for a shared datastore is cached; the share of an evicted one is still counted. */
const maxTenantBackends = 1_000

/**
 * The client of each organization for a datastore that it was routed to: through the circuit, and if the datastore is
 * shared, with no more than a share of its connections.
 */
function createBackendLookup (
  backend: Backend, config: Config, circuits: CircuitBreakers
): (tenantId: string) => Backend {
  const circuit = circuits[backend.name]!
  if (!isShared(config, backend)) {
    const guarded = circuit.guard(backend)
    return () => guarded
  }
  const shares = new TenantConcurrency()
  const max = computeTenantShare(config, backend)
  // Outside of the share, where nothing waits for those that wait for a response.
  const tenantBackends = new LRUCache<string, Backend>({
    max: maxTenantBackends,
    memoMethod: tenantId => circuit.guard(shares.limit(backend, tenantId, max))
  })
  return tenantId => tenantBackends.memo(tenantId)
}

/** Whether the datastore serves several organizations. */
function isShared ({ routing: { test, live } }: Config, { name }: Backend): boolean {
  return name === test || name === live
}

/** Half of the connections: a single organization never has all of them. */
function computeTenantShare ({ datastores }: Config, { name }: Backend): number {
  return Math.ceil((datastores[name]?.connections ?? defaultConnections) / 2)
}

function usesCredentials ({ datastores }: Config): boolean {
  return Object.values(datastores).some(({ auth }) => auth.type !== 'none')
}

/** The names of all datastores, sandboxes last. */
export function listDatastoreNames ({ datastores, routing: { test, live } }: Config): string[] {
  return [...new Set([...Object.keys(datastores), test, live])]
}

/**
 * Whether a datastore is a sandbox, because test or live keys are routed to it and no configured datastore has its
 * name.
 */
export function isSandbox ({ datastores }: Config, name: string): boolean {
  return !Object.hasOwn(datastores, name)
}

/** The database file of a sandbox. */
export function getSandboxFile ({ dataDirectory }: Config, name: string): string {
  return join(dataDirectory, `sandbox-${name}.db`)
}

/** One of the {@link listDatastoreNames}, to be closed by the closers. */
export async function openDatastore (config: Config, name: string,
  { closers, ...parts }: ClientParts & { readonly closers: Disposables }): Promise<Backend> {
  const datastore = config.datastores[name]
  if (datastore !== undefined && !isSandbox(config, name)) return closers.add(await openClient(name, datastore, parts))
  const sandbox = closers.add(
    await openDataFile(getSandboxFile(config, name), file => startSandbox({ file, now: parts.now }))
  )
  return closers.add(new HttpBackend({ name, baseUrl: sandbox.url }))
}

/** The states of datastores by their names. */
interface States {
  readonly circuits: CircuitBreakers
  readonly incidents: ReadonlySet<string>
}

/**
 * The checks by the mode that the datastores serve, because the names of dedicated ones may be those of customers, and
 * the health is public.
 */
function createDatastoreChecks (
  backends: Readonly<Record<string, Backend>>, { test, live, dedicated }: Config['routing'], states: States
): OpenDatastores['checks'] {
  const own = [...new Set(Object.values(dedicated))]
  return {
    testDatastore: () => checkDatastores([backends[test]!], states),
    liveDatastore: () => checkDatastores([backends[live]!], states),
    ...(own.length > 0 ? { dedicatedDatastores: () => checkDatastores(own.map(name => backends[name]!), states) } : {})
  }
}

async function checkDatastores (backends: readonly Backend[], { circuits, incidents }: States): Promise<Check> {
  const results = await Promise.all(backends.map(backend => backend.probe()))
  const circuit = backends.some(({ name }) => circuits[name]!.state === 'open') ? 'open' : 'closed'
  const isolation = backends.some(({ name }) => incidents.has(name)) ? 'incident' : 'ok'
  return {
    status: results.every(Boolean) && circuit === 'closed' && isolation === 'ok' ? 'ok' : 'degraded',
    circuit,
    isolation
  }
}
