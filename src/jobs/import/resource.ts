import { Failure } from '../../envelope/failures.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { deepEqual } from '../../mappings/core/element.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { checkRules } from '../../mappings/core/validate.js'
import { changedFields } from '../../record-input/changed-record.js'
import { throwIfIssues, validateCreate, buildResource } from '../../record-input/new-record.js'
import { resolveCanonicals } from '../../record-input/references.js'
import type { ImportedRecord } from '../../tenant-guard/import/import-store.js'
import { resolveLinks, type Targets } from '../../tenant-guard/import/resolve-links.js'
import { createContext, type ImportContext } from './import-context.js'
import type { IndexedLine } from './index-rows.js'
import type { Target } from './look-up.js'
import type { LineRecord } from './record.js'
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
}

/**
 * Builds the record to store for a line. FHIR replaces the stored record; in the simple form only the fields that were
 * sent do, as in a PATCH, since that form does not show the complete record.
 * @throws {Failure} VALIDATION_ERROR, METHOD_NOT_ALLOWED
 */
export async function prepareLine (
  context: ImportContext,
  { line, record: { type, mapping, body } }: ReadLine,
  { id, before, targets }: Target & { readonly targets: Targets }
): Promise<Prepared> {
  if (mapping === undefined) {
    return { record: { type, id, resource: body as FhirResource, targets }, fields: {} }
  }
  if (before !== undefined) return await changed(context, mapping, { before, body, targets })
  const fields = await complete(
    context,
    mapping,
    await resolveTargets(context, mapping, {
      fields: validateCreate(mapping, body, createContext(context, line.identity)),
      targets
    })
  )
  return { record: { type, id, resource: buildResource(mapping, fields), targets }, fields }
}

interface Change { readonly before: StoredResource, readonly body: Fields, readonly targets: Targets }

async function changed (
  context: ImportContext,
  mapping: Mapping,
  { before, body, targets }: Change
): Promise<Prepared> {
  if (mapping.appendOnly === true) {
    throw new Failure('METHOD_NOT_ALLOWED', { message: 'Records of this type cannot be changed.' })
  }
  const { changed, stored } = changedFields(mapping, body, mapping.present(before))
  const fields = await complete(context, mapping, await resolveTargets(context, mapping, { fields: changed, targets }))
  const patched: FhirResource = mapping.patch(before, { ...stored, ...fields })
  throwIfIssues(checkRules(mapping, patched, Object.keys(fields), before))
  // Resolved immediately, since the result may equal the stored record.
  const { type } = mapping
  const { id } = before
  const { resource } = resolveLinks(
    { resource: patched, links: context.store.checked({ type, id, resource: patched, before }).links },
    targets
  )
  if (deepEqual(resource, before)) return { record: undefined, fields }
  const version = before.meta.versionId
  return { record: { type, id, resource, before, ...(version !== undefined && { version }) }, fields }
}

async function complete ({ store }: ImportContext, mapping: Mapping, fields: Fields): Promise<Fields> {
  return hasCanonicalIds(mapping) ? await resolveCanonicals(mapping, store.records, fields) : fields
}
