import type { Issue } from '../../envelope/failures.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { deepEqual } from '../../mappings/core/element.js'
import { lossWarnings } from '../../mappings/core/losses.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { warningsOf } from '../../mappings/core/validate.js'
import { changedFields, changeRecord, echoWarnings } from '../../record-input/changed-record.js'
import { validateCreate, buildResource, completedValues } from '../../record-input/new-record.js'
import { resolveCanonicals } from '../../record-input/references.js'
import type { ImportedRecord } from '../../tenant-guard/import/import-store.js'
import { resolveLinks, type Targets } from '../../tenant-guard/import/resolve-links.js'
import { isAppendOnly, unchangeable } from '../../tenant-guard/policy.js'
import { createContext, type ImportContext } from './import-context.js'
import type { IndexedLine } from './index-rows.js'
import type { Target } from './existing-records.js'
import { createWarnings, type LineRecord } from './record.js'
import { hasCanonicalIds, resolveTargets } from './references.js'

type Fields = Readonly<Record<string, unknown>>

/** A line to write, and the record read from it. */
export interface ReadLine { readonly line: IndexedLine, readonly record: LineRecord }

/** A line as it will be stored. */
export interface Prepared {
  /** Undefined if the stored record is already equal. */
  readonly record: ImportedRecord | undefined
  /** The fields of the simple form, to name those at fault. */
  readonly fields: Fields
  /** What the client should know of the write, before the datastore stored it. */
  readonly warnings: readonly Issue[]
}

/**
 * Builds the record to store for a line. FHIR replaces the stored record; in the simple form only the fields that were
 * sent do, as in a PATCH, since that form does not show the complete record.
 * @throws {Failure} VALIDATION_ERROR, METHOD_NOT_ALLOWED
 */
export async function prepareLine (
  context: ImportContext,
  { line, record: { type, mapping, body, wasRead } }: ReadLine,
  { id, before, targets }: Target & { readonly targets: Targets }
): Promise<Prepared> {
  if (mapping === undefined) {
    if (before !== undefined && isAppendOnly(type)) {
      requireUnchanged(context, { before, body, targets })
      return { record: undefined, fields: {}, warnings: [] }
    }
    return { record: { type, id, resource: body as FhirResource, targets }, fields: {}, warnings: [] }
  }
  if (before !== undefined) {
    return await changed(context, mapping, { before, body, wasRead: wasRead === true, targets })
  }
  const fields = await complete(
    context,
    mapping,
    await resolveTargets(context, mapping, {
      fields: validateCreate(mapping, body, createContext(context, line.identity)),
      targets
    })
  )
  const resource = buildResource(mapping, fields)
  return { record: { type, id, resource, targets }, fields, warnings: createWarnings({ mapping }, fields, resource) }
}

/**
 * Refuses a line that would change evidence, and not one that was sent before.
 * @throws {Failure} METHOD_NOT_ALLOWED
 */
function requireUnchanged ({ store }: ImportContext, { before, body, targets }: Omit<Change, 'wasRead'>): void {
  const { resourceType: type, id } = before
  const sent = body as FhirResource
  const { links } = store.checked({ type, id, resource: sent })
  const { resource } = resolveLinks({ resource: sent, links }, targets)
  if (!deepEqual(contentOf(resource), contentOf(before))) throw unchangeable()
}

const contentOf = ({ id: _, meta: __, ...content }: FhirResource): unknown => content

interface Change {
  readonly before: StoredResource
  readonly body: Fields
  readonly wasRead: boolean
  readonly targets: Targets
}

async function changed (
  context: ImportContext,
  mapping: Mapping,
  { before, body, wasRead, targets }: Change
): Promise<Prepared> {
  const shown = mapping.present(before)
  const { versionId, updatedAt } = shown
  const read = { ...(versionId !== undefined && { versionId }), ...(updatedAt !== undefined && { updatedAt }) }
  const change = changedFields(mapping, wasRead ? { ...body, ...read } : body, shown)
  const fields = await complete(
    context,
    mapping,
    await resolveTargets(context, mapping, { fields: change.changed, targets })
  )
  const patched: FhirResource = changeRecord(mapping, before, { ...change, changed: fields })
  // Resolved immediately, since the result may equal the stored record.
  const { type } = mapping
  const { id } = before
  const { resource } = resolveLinks(
    { resource: patched, links: context.store.checked({ type, id, resource: patched, before }).links },
    targets
  )
  const warnings = [
    ...completedValues(mapping, change.changed),
    ...lossWarnings(mapping, before, resource),
    ...echoWarnings(mapping, change, resource),
    ...warningsOf(mapping, resource)
  ]
  if (deepEqual(resource, before)) return { record: undefined, fields, warnings }
  if (isAppendOnly(type)) throw unchangeable()
  const version = before.meta.versionId
  return { record: { type, id, resource, before, ...(version !== undefined && { version }) }, fields, warnings }
}

async function complete ({ store }: ImportContext, mapping: Mapping, fields: Fields): Promise<Fields> {
  return hasCanonicalIds(mapping) ? await resolveCanonicals(mapping, store.records, fields) : fields
}
