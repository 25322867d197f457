import { mapJson } from '../../json.js'
import { placeOf, type Door } from '../door.js'
import type { Transaction } from '../fhir-interaction.js'
import { inTurns } from '../in-turns.js'
import { ownedAmong } from '../look-up.js'
import { linksIn, ReferenceFailure, recordsOf } from '../writes/references.js'
import { soleMatch } from '../writes/sole-match.js'
import { pathInEntry } from './in-entry.js'
import type { Write } from './transaction-writes.js'

/** Writes whose references were checked. */
interface CheckedWrites {
  readonly writes: ReadonlyArray<Write | undefined>
  /** Records that they refer to, believed to be the tenant's without asking. */
  readonly believed: readonly string[]
}

/**
 * The writes with each reference by criteria as one by id, after every reference was found to lead to a record of the
 * tenant, or to what another entry makes.
 * @throws {ReferenceFailure} with the paths of all that do not
 */
export async function demandAllReferences (door: Door, writes: ReadonlyArray<Write | undefined>, { references }: Transaction): Promise<CheckedWrites> {
  const found = new Map(await inTurns([...references], async ([text, criteria]) => [text, await soleMatch(door, criteria)] as const))
  const texts = new Map([...found].filter(([, record]) => record !== undefined).map(([text, record]) => [text, `${record!.resourceType}/${record!.id}`]))
  const resolved = writes.map(write => write?.resource === undefined || texts.size === 0 ? write : { ...write, resource: withReferences(write.resource, texts) })
  const made = new Set(writes.map(write => write?.fullUrl).filter(fullUrl => fullUrl !== undefined))
  const links = resolved.flatMap((write, at) => write?.resource === undefined ? [] : linksIn(write.resource, [door.backend.baseUrl]).map(link => ({ ...link, path: pathInEntry(link.path, at) })))
  const outside = links.filter(({ reference }) => !made.has(reference))
  const records = recordsOf(outside)
  const believed = [...records].filter(record => door.ownership.isKnown(placeOf(door), record))
  const owned = await ownedAmong(door, records)
  const refused = outside.filter(({ record }) => record === undefined || !owned.has(record))
  if (refused.length > 0) throw new ReferenceFailure(refused)
  return { writes: resolved, believed }
}

function withReferences<T> (value: T, texts: ReadonlyMap<string, string>): T {
  return mapJson(value, (item, name) => name === 'reference' && typeof item === 'string' ? texts.get(item) ?? item : item)
}
