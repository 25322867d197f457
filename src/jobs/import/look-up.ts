import type { StoredResource } from '../../mappings/fhir.js'
import { findExistingRecords } from './existing-records.js'
import type { ImportContext } from './import-context.js'
import { idOf } from './line-ids.js'
import type { IndexedLine } from './index-rows.js'
import type { LineRecord } from './record.js'

/** A line that is to be written, and what its record is called. */
export interface NamedLine {
  readonly line: IndexedLine
  readonly record: Pick<LineRecord, 'type' | 'name' | 'mapping'>
}

/** Where a line is stored, and what is there now: of lines in the simple form whole, of others the identity alone. */
export interface Target { readonly id: string, readonly before: StoredResource | undefined }

/**
 * The ids under which lines are stored. A record that an import made of a line with this name comes first, then the
 * tenant's record of which the name is the id; else it is a new one. What is another tenant's is not seen, and so is
 * not there.
 */
export async function targetsOf (
  context: ImportContext,
  lines: readonly NamedLine[]
): Promise<ReadonlyMap<number, Target>> {
  const groups = new Map<string, NamedLine[]>()
  for (const line of lines) {
    const name = `${line.record.type} ${line.record.mapping !== undefined}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [line])
    else group.push(line)
  }
  const found = await Promise.all([...groups.values()].map(async group => await targetsOfGroup(context, group)))
  return new Map(found.flat())
}

async function targetsOfGroup (
  context: ImportContext,
  lines: readonly NamedLine[]
): Promise<ReadonlyArray<readonly [number, Target]>> {
  const { type, mapping } = lines[0]!.record
  const mayBeThere = await findExistingRecords(context, type)
  // What was sent before may be there though it was not before this import.
  const requested = context.index.together(() =>
    lines.flatMap(line => idsOf(line).filter(id => line.line.plan !== null || mayBeThere(id)))
  )
  const stored =
    requested.length === 0
      ? new Map<string, StoredResource>()
      : await context.store.stored({ type, ids: [...new Set(requested)], isComplete: mapping !== undefined })
  return lines.map(line => {
    const ids = idsOf(line)
    const before = ids.map(id => stored.get(id)).find(record => record !== undefined)
    return [line.line.line, { id: before?.id ?? ids[0], before }] as const
  })
}

/**
 * Under which a line may be stored, first what the import gives it; one that was sent to be created is there under no
 * other.
 */
function idsOf ({ line: { identity, plan }, record: { name } }: NamedLine): readonly [string, ...string[]] {
  return name === undefined || plan === 'created' ? [idOf(identity)] : [idOf(identity), name]
}
