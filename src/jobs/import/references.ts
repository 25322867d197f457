import type { Failure } from '../../envelope/failures.js'
import { isValidId } from '../../fhir/names.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { applyFound, listBareIds, listNames, listCandidates, type BareId } from '../../record-input/bare-ids.js'
import { toFieldPath } from '../../record-input/references.js'
import type { Targets } from '../../tenant-guard/import/resolve-links.js'
import { ReferenceFailure, type ReferenceSite } from '../../tenant-guard/writes/references.js'
import type { ImportContext } from './import-context.js'

type Fields = Readonly<Record<string, unknown>>

/** The records that a line refers to. */
interface Referred {
  /** Every record, as `Type/id`. */
  readonly records: ReadonlySet<string>
  /**
   * Bare ids that may lead to a record of another type, unless there is one of the first, and names that may be ids.
   */
  readonly bareIds: readonly BareId[]
}

/**
 * The records that a new resource refers to.
 * @throws {Failure} VALIDATION_ERROR for a reference that leads to no record
 */
export function findReferredRecords (
  links: readonly ReferenceSite[],
  mapping: Mapping | undefined,
  fields: Fields
): Referred {
  const refused = links.filter(({ record }) => record === undefined)
  if (refused.length > 0) throw toLineFailure(mapping, fields, new ReferenceFailure(refused))
  const linked = links.map(({ record }) => record!)
  if (mapping === undefined) return { records: new Set(linked), bareIds: [] }
  const definitions = listCanonicalFields(mapping).flatMap(field => toCandidate(field, fields[field.name]) ?? [])
  const bareIds = [...listBareIds(mapping, fields), ...listNames(mapping, fields)]
  return { records: new Set([...linked, ...definitions]), bareIds }
}

/** A refused reference, with its path in the form of the line. */
export function toLineFailure (mapping: Mapping | undefined, fields: Fields, failure: ReferenceFailure) {
  return mapping === undefined ? failure : toFieldPath(mapping, fields, failure)
}

/**
 * The fields with each bare id that leads to another line, or that was looked up, replaced by a reference to its
 * record. A stored record of the first type comes before a line of another type.
 * @throws {Failure} VALIDATION_ERROR for an id that records of several types have
 */
export async function resolveTargets (
  { store, bareIds }: Pick<ImportContext, 'store' | 'bareIds'>,
  mapping: Mapping,
  { fields, targets }: { readonly fields: Fields; readonly targets: Targets }
): Promise<Fields> {
  const canonicals = listCanonicalFields(mapping).flatMap(field => {
    const candidate = toCandidate(field, fields[field.name])
    const target = candidate && targets.get(candidate)
    return target === undefined ? [] : [[field.name, target.slice(target.indexOf('/') + 1)] as const]
  })
  const found = new Map<string, readonly string[]>()
  const open: string[] = []
  for (const { reference, others } of listBareIds(mapping, fields)) {
    if (targets.get(reference) !== undefined) continue
    const lines = others.filter(other => targets.get(other) !== undefined)
    const records = lines.length > 0 ? lines : bareIds.get(toKey({ reference, others })) ?? []
    if (records.length === 0) continue
    found.set(toKey({ reference, others }), records)
    if (lines.length > 0) open.push(reference)
  }
  // Most are known by now, from the look-up for all lines that are prepared together.
  await lookUpNames({ store, bareIds }, [{ mapping, body: fields }])
  for (const name of listNames(mapping, fields)) {
    const lines = name.others.filter(other => targets.get(other) !== undefined)
    const records = lines.length > 0 ? lines : bareIds.get(toKey(name)) ?? []
    if (records.length > 0) found.set(toKey(name), records)
  }
  const named = canonicals.length === 0 ? fields : { ...fields, ...Object.fromEntries(canonicals) }
  if (found.size === 0) return named
  const stored = await store.records.filterOwned(open)
  return applyFound(mapping, named, bareId =>
    stored.has(bareId.reference) ? [] : found.get(toKey(bareId)) ?? []
  ) ?? named
}

/** Looks up the names in lines that have the form of an id among the stored records, in one call for all. */
export async function lookUpNames (
  { store, bareIds }: Pick<ImportContext, 'store' | 'bareIds'>,
  lines: ReadonlyArray<{ readonly mapping?: Mapping | undefined; readonly body?: Fields }>
): Promise<void> {
  const names = lines.flatMap(({ mapping, body }) =>
    mapping === undefined || body === undefined ? [] : listNames(mapping, mapping.resolveAliases(body))
  )
  const open = new Map(names.map(name => [toKey(name), name]))
  for (const key of open.keys()) if (bareIds.has(key)) open.delete(key)
  if (open.size === 0) return
  const owned = await store.records.filterOwned(new Set(listCandidates(store.records, [...open.values()])))
  for (const [key, { others }] of open) bareIds.set(key, others.filter(other => owned.has(other)))
}

/** A line whose references were refused. */
interface RefusedLine {
  readonly mapping: Mapping | undefined
  readonly fields: Fields
  readonly failure: Failure
}

/**
 * Looks up the bare ids of refused lines among the stored records of other types, in one call for all.
 * @returns for each line whether every refused reference is found by now, so that it can be prepared again
 */
export async function lookUpBareIds (
  { store, bareIds }: Pick<ImportContext, 'store' | 'bareIds'>,
  lines: readonly RefusedLine[]
): Promise<readonly boolean[]> {
  const open = lines.map(({ mapping, fields, failure }) => {
    if (mapping === undefined || !(failure instanceof ReferenceFailure)) return []
    const refused = new Set(failure.references)
    return listBareIds(mapping, fields).filter(({ reference }) => refused.has(reference))
  })
  if (open.every(line => line.length === 0)) return lines.map(() => false)
  const owned = await store.records.filterOwned(listCandidates(store.records, open.flat()))
  for (const bareId of open.flat()) {
    const found = bareId.others.filter(other => owned.has(other))
    if (found.length > 0) bareIds.set(toKey(bareId), found)
  }
  return lines.map(({ failure }, at) => {
    const found = new Set(open[at]!.filter(bareId => bareIds.has(toKey(bareId))).map(({ reference }) => reference))
    return failure instanceof ReferenceFailure && failure.references.every(reference => found.has(reference))
  })
}

const toKey = ({ reference, others }: Pick<BareId, 'reference' | 'others'>): string => [reference, ...others].join(' ')

/** Whether fields have values whose form depends on stored records: ids in the place of URLs or of names. */
export const dependsOnStored = (mapping: Mapping, fields: Fields): boolean =>
  hasCanonicalIds(mapping) || listNames(mapping, fields).length > 0

/** Whether a value of these fields is resolved in a way that depends on stored records: a canonical by its id. */
export function hasCanonicalIds (mapping: Mapping): boolean {
  return listCanonicalFields(mapping).length > 0
}

/** A field that holds a canonical, and the type of the records whose id may be sent in its place. */
interface CanonicalField { readonly name: string, readonly type: string }

const known = new WeakMap<Mapping, readonly CanonicalField[]>()

function listCanonicalFields (mapping: Mapping): readonly CanonicalField[] {
  const fields =
    known.get(mapping) ??
    Object.entries(mapping.fields).flatMap(([name, { options: { canonicalOf: type } }]) =>
      type === undefined ? [] : [{ name, type }]
    )
  known.set(mapping, fields)
  return fields
}

function toCandidate ({ type }: CanonicalField, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const bare = value.startsWith(`${type}/`) ? value.slice(type.length + 1) : value
  return isValidId(bare) ? `${type}/${bare}` : undefined
}
