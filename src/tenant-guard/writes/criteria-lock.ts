import pLimit, { type LimitFunction } from 'p-limit'
import type { Backend } from '../../backends/backend.js'
import type { TenantContext } from '../tenant-context.js'
import type { Criteria } from '../interaction.js'
import { encodeTenantCriteria } from '../restrict.js'

interface CriteriaQueue { readonly limit: LimitFunction, users: number }

/** Only criteria with something under way take memory. */
const lines = new WeakMap<Backend['upstream'], Map<string, CriteriaQueue>>()

/**
 * Performs creates and updates of a tenant's by equal criteria one after the other. HAPI prevents two creates from
 * making a record each, but not while the first one's record is being updated: then it forgets by what that one was
 * made.
 */
export async function withCriteriaLock<T> (
  { backend: { upstream }, tenant }: TenantContext,
  criteria: Criteria,
  work: () => Promise<T>
): Promise<T> {
  const name = `${criteria.type}?${encodeTenantCriteria(criteria, tenant)}`
  const ofUpstream = lines.get(upstream) ?? new Map<string, CriteriaQueue>()
  lines.set(upstream, ofUpstream)
  const line = ofUpstream.get(name) ?? { limit: pLimit(1), users: 0 }
  ofUpstream.set(name, line)
  line.users++
  try {
    return await line.limit(work)
  } finally {
    if (--line.users === 0) ofUpstream.delete(name)
  }
}
