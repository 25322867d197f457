import { Failure } from '../envelope/failures.js'
import type { Mode } from '../mode.js'
import type { Backend } from './backend.js'
import { defaultRetryAfterSeconds } from './trouble.js'

/** Which datastore serves whom, by exact names. */
interface Routes {
  readonly datastores: Readonly<Record<string, Backend>>
  /** The plans that there are; all but enterprise share the live datastore. */
  readonly plans: readonly string[]
  /** The name of the datastore of every test key. */
  readonly test: string
  /** The name of the datastore of live keys on a shared plan. */
  readonly live: string
  /** Names of the datastores of enterprise organizations, by tenant id; they win over what the control plane says. */
  readonly dedicated?: Readonly<Record<string, string>>
}

/** Whose data is asked for: the part of a caller that decides where it is; `datastore` is what the control plane says of its organization. */
export interface Owner { readonly mode: Mode, readonly plan: string, readonly tenantId: string, readonly datastore?: string }

/** The plan whose live data has a datastore of its own for each organization. */
const dedicatedPlan = 'enterprise'

/**
 * The datastore of a caller. An enterprise's live data has its own or none: a missing one is BACKEND_UNAVAILABLE, never
 * another's. A name that no datastore has stops the start.
 */
export function routing (routes: Routes): (owner: Owner) => Backend {
  const datastores = new Map(Object.entries(routes.datastores))
  const dedicated = new Map(Object.entries(routes.dedicated ?? {}))
  const missing = [routes.test, routes.live, ...dedicated.values()].filter(name => !datastores.has(name))
  if (missing.length > 0) throw new Error(`no datastore is configured under the name ${missing.join(', ')}`)
  return owner => {
    const backend = datastores.get(nameFor(owner, routes, dedicated) ?? '')
    if (backend === undefined) throw unavailable()
    return backend
  }
}

function nameFor ({ mode, plan, tenantId, datastore }: Owner, { test, live, plans }: Routes, dedicated: ReadonlyMap<string, string>): string | undefined {
  if (mode === 'test') return test
  if (mode !== 'live') return undefined
  // A shared datastore or another organization's is never one's own, whatever the control plane says.
  const isOthers = (name: string | undefined) => name === test || name === live || [...dedicated.values()].some(taken => taken === name)
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
