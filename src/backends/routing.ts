import { Failure } from '../envelope/failures.js'
import type { Mode } from '../config/mode.js'
import type { Backend } from './backend.js'
import { defaultRetryAfterSeconds } from './failures.js'

/** Which datastore serves which callers, by name. */
interface Routes {
  readonly datastores: Readonly<Record<string, Backend>>
  /** All plans. All but enterprise share the live datastore. */
  readonly plans: readonly string[]
  /** The name of the datastore of every test key. */
  readonly test: string
  /** The name of the datastore of live keys on a shared plan. */
  readonly live: string
  /** The datastores of enterprise organizations, by tenant id. They take precedence over the control plane. */
  readonly dedicated?: Readonly<Record<string, string>>
}

/**
 * The part of a caller that determines where its data is. `datastore` is the one that the control plane stores for its
 * organization.
 */
export interface RoutingKey {
  readonly mode: Mode
  readonly plan: string
  readonly tenantId: string
  readonly datastore?: string
}

/** The plan with a separate live datastore for each organization. */
const dedicatedPlan = 'enterprise'

/**
 * Finds the datastore of a caller. Live data of an enterprise organization is in its own datastore or nowhere: if there
 * is none, the result is BACKEND_UNAVAILABLE, never another datastore. An unknown name in the routes prevents the
 * start.
 */
export function createRouting (routes: Routes): (owner: RoutingKey) => Backend {
  const datastores = new Map(Object.entries(routes.datastores))
  const dedicated = new Map(Object.entries(routes.dedicated ?? {}))
  const missing = [routes.test, routes.live, ...dedicated.values()].filter(name => !datastores.has(name))
  if (missing.length > 0) throw new Error(`no datastore is configured under the name ${missing.join(', ')}`)
  return owner => {
    const backend = datastores.get(selectDatastoreName(owner, routes, dedicated) ?? '')
    if (backend === undefined) throw unavailable()
    return backend
  }
}

function selectDatastoreName (
  { mode, plan, tenantId, datastore }: RoutingKey,
  { test, live, plans }: Routes,
  dedicated: ReadonlyMap<string, string>
): string | undefined {
  if (mode === 'test') return test
  if (mode !== 'live') return undefined
  // Even if the control plane names it, never a shared datastore or that of another organization.
  const isOthers = (name: string | undefined) =>
    name === test || name === live || [...dedicated.values()].some(taken => taken === name)
  if (plan === dedicatedPlan) return dedicated.get(tenantId) ?? (isOthers(datastore) ? undefined : datastore)
  return plans.includes(plan) ? live : undefined
}

function unavailable (): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'The datastore of this organization is not set up yet.',
    headers: { 'retry-after': String(defaultRetryAfterSeconds) },
    cause: { reason: 'no datastore is configured for this organization and plan' }
  })
}
