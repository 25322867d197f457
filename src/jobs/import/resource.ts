import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { deepEqual } from '../../mappings/core/element.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { checkRules } from '../../mappings/core/validate.js'
import { changedFields } from '../../record-input/changed-record.js'
import { throwIfIssues, validateCreate, buildResource } from '../../record-input/new-record.js'
import { resolveCanonicals } from '../../record-input/references.js'
import type { ImportedRecord } from '../../tenant-guard/import/import-store.js'
import { resolveLinks, type Targets } from '../../tenant-guard/import/resolve-links.js'
import { isAppendOnly, unchangeable } from '../../tenant-guard/policy.js'
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
    if (before !== undefined && isAppendOnly(type)) {
      requireUnchanged(context, { before, body, targets })
      return { record: undefined, fields: {} }
    }
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

/**
 * Refuses a line that would change evidence, and not one that was sent before.
 * @throws {Failure} METHOD_NOT_ALLOWED
 */
function requireUnchanged ({ store }: ImportContext, { before, body, targets }: Change): void {
  const { resourceType: type, id } = before
  const sent = body as FhirResource
  const { links } = store.checked({ type, id, resource: sent })
  const { resource } = resolveLinks({ resource: sent, links }, targets)
  if (!deepEqual(contentOf(resource), contentOf(before))) throw unchangeable()
}

const contentOf = ({ id: _, meta: __, ...content }: FhirResource): unknown => content

interface Change { readonly before: StoredResource, readonly body: Fields, readonly targets: Targets }

async function changed (
  context: ImportContext,
  mapping: Mapping,
  { before, body, targets }: Change
): Promise<Prepared> {
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
  if (isAppendOnly(type)) throw unchangeable()
  const version = before.meta.versionId
  return { record: { type, id, resource, before, ...(version !== undefined && { version }) }, fields }
}

async function complete ({ store }: ImportContext, mapping: Mapping, fields: Fields): Promise<Fields> {
  return hasCanonicalIds(mapping) ? await resolveCanonicals(mapping, store.records, fields) : fields
}
