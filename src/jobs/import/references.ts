import { isValidId } from '../../fhir/names.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { toFieldPath } from '../../record-input/references.js'
import type { Targets } from '../../tenant-guard/import/resolve-links.js'
import { ReferenceFailure, type ReferenceSite } from '../../tenant-guard/writes/references.js'

type Fields = Readonly<Record<string, unknown>>

/**
 * Every record that a new resource refers to, as `Type/id`; a bare id that may have one of several types yields all of
 * them.
 * @throws {Failure} VALIDATION_ERROR for a reference that leads to no record
 */
export function referredBy (
  links: readonly ReferenceSite[],
  mapping: Mapping | undefined,
  fields: Fields
): ReadonlySet<string> {
  const refused = links.filter(({ record }) => record === undefined)
  if (refused.length > 0) throw toLineFailure(mapping, fields, new ReferenceFailure(refused))
  const possible =
    mapping === undefined ? [] : openFields(mapping).flatMap(field => candidatesOf(field, fields[field.name]))
  return new Set([...links.map(({ record }) => record!), ...possible])
}

/** A refused reference, with its path in the form of the line. */
export function toLineFailure (mapping: Mapping | undefined, fields: Fields, failure: ReferenceFailure) {
  return mapping === undefined ? failure : toFieldPath(mapping, fields, failure)
}

/**
 * The fields with each bare id of a line of this import resolved to its record; ids to look up among stored records
 * stay.
 */
export function resolveTargets (mapping: Mapping, fields: Fields, targets: Targets): Fields {
  const found = openFields(mapping).flatMap(field => {
    const target = candidatesOf(field, fields[field.name])
      .map(candidate => targets.get(candidate))
      .find(found => found !== undefined)
    return target === undefined
      ? []
      : [[field.name, field.isCanonical ? target.slice(target.indexOf('/') + 1) : target] as const]
  })
  return found.length === 0 ? fields : { ...fields, ...Object.fromEntries(found) }
}

/** Whether fields of this group have to be looked up among stored records. */
export const hasOpenFields = (mapping: Mapping): boolean => openFields(mapping).length > 0

/** A field whose value does not determine the type of its target. */
interface OpenField { readonly name: string, readonly types: readonly string[], readonly isCanonical: boolean }

const known = new WeakMap<Mapping, readonly OpenField[]>()

function openFields (mapping: Mapping): readonly OpenField[] {
  const fields =
    known.get(mapping) ??
    Object.entries(mapping.fields).flatMap(
      ([
        name,
        {
          options: { resolveAmong, canonicalOf }
        }
      ]): OpenField[] => {
        if (canonicalOf !== undefined) return [{ name, types: [canonicalOf], isCanonical: true }]
        return resolveAmong === undefined ? [] : [{ name, types: resolveAmong, isCanonical: false }]
      }
    )
  known.set(mapping, fields)
  return fields
}

function candidatesOf ({ types, isCanonical }: OpenField, value: unknown): readonly string[] {
  if (typeof value !== 'string') return []
  const own = `${types[0]}/`
  const bare = isCanonical && value.startsWith(own) ? value.slice(own.length) : value
  return isValidId(bare) ? types.map(type => `${type}/${bare}`) : []
}
