import { Failure } from '../../envelope/failures.js'
import type { TenantContext } from '../tenant-context.js'
import type { Criteria } from '../interaction.js'
import { mapConcurrently } from '../map-concurrently.js'
import type { ReferenceReason } from '../writes/references.js'
import { findSingleMatch } from '../writes/single-match.js'
import { meetsCriteria } from './meets-criteria.js'
import type { Write } from './transaction-writes.js'

/** What criteria in place of an id lead to: a stored record, the entry at a position, or nothing for a reason. */
export type CriteriaTarget =
  { readonly record: string } | { readonly at: number } | { readonly reason: ReferenceReason }

/**
 * What each conditional reference leads to once creates, updates and deletes are done, as R4 orders it:
 * http://hl7.org/fhir/R4/http.html#trules
 * @returns by the text of the reference
 */
export async function resolveCriteria (
  context: TenantContext, writes: ReadonlyArray<Write | undefined>, references: ReadonlyMap<string, Criteria>
): Promise<ReadonlyMap<string, CriteriaTarget>> {
  const resolved = await mapConcurrently(
    [...references],
    async ([text, criteria]) => [text, await resolve(context, writes, criteria)] as const
  )
  return new Map(resolved)
}

async function resolve (
  context: TenantContext,
  writes: ReadonlyArray<Write | undefined>,
  criteria: Criteria
): Promise<CriteriaTarget> {
  const { type, parameters } = criteria
  const changed = new Map(
    writes.flatMap(write => (write?.type === type && write.id !== undefined ? [[write.id, write]] : []))
  )
  const meets = (write: Write): boolean | undefined =>
    write.resource === undefined ? false : meetsCriteria(write.resource, type, parameters)
  const found = await findStored(context, criteria)
  if (found === 'several') return { reason: 'severalMatch' }
  const targets = new Set<string | number>()
  // A record that the transaction changes or deletes counts by what is left of it.
  if (found !== undefined && (!changed.has(found) || meets(changed.get(found)!) !== false)) {
    targets.add(`${type}/${found}`)
  }
  for (const [at, write] of writes.entries()) {
    if (write?.type !== type || meets(write) !== true) continue
    targets.add(
      write.id !== undefined ? `${type}/${write.id}` : ((await findExisting(context, write)) ?? write.sameAs ?? at)
    )
  }
  const [target, ...more] = targets
  if (more.length > 0) return { reason: 'severalMatch' }
  if (target === undefined) return { reason: 'noMatch' }
  return typeof target === 'number' ? { at: target } : { record: target }
}

/** The record that a conditional create finds in place of creating one. */
async function findExisting (context: TenantContext, { type, criteria }: Write): Promise<string | undefined> {
  if (criteria === undefined) return undefined
  const found = await findStored(context, criteria)
  return found === undefined || found === 'several' ? undefined : `${type}/${found}`
}

async function findStored (context: TenantContext, criteria: Criteria): Promise<string | undefined> {
  try {
    return (await findSingleMatch(context, criteria))?.id
  } catch (error) {
    if (error instanceof Failure && error.code === 'PRECONDITION_FAILED') return 'several'
    throw error
  }
}
