import { ExactNumber } from '../../json.js'
import type { FhirElement, FhirResource } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/kit/mapping.js'
import { inFields } from '../../records/references.js'
import { linkElements } from '../../tenant-guard/writes/link-elements.js'
import { ReferenceFailure, type Link } from '../../tenant-guard/writes/references.js'

type Fields = Readonly<Record<string, unknown>>

/** Where lines of an import are stored, by what they are called: `Patient/p1` → `Patient/i0123…`. */
export type Targets = Pick<ReadonlyMap<string, string>, 'has' | 'get'>

/**
 * Every record that a new resource refers to, as `Type/id`; a bare id that may mean one of several types is all of them.
 * @throws {Failure} VALIDATION_ERROR for a reference that leads to no record
 */
export function referredBy (links: readonly Link[], mapping: Mapping | undefined, fields: Fields): ReadonlySet<string> {
  const refused = links.filter(({ record }) => record === undefined)
  if (refused.length > 0) throw refusedIn(mapping, fields, new ReferenceFailure(refused))
  const possible = mapping === undefined ? [] : openFields(mapping).flatMap(field => candidatesOf(field, fields[field.name]))
  return new Set([...links.map(({ record }) => record!), ...possible])
}

/** A refused reference as the form of the line names its place. */
export function refusedIn (mapping: Mapping | undefined, fields: Fields, failure: ReferenceFailure) {
  return mapping === undefined ? failure : inFields(mapping, fields, failure)
}

/** The fields with each bare id that means a line of this import leading there; what is looked up among stored records stays. */
export function withTargetsInFields (mapping: Mapping, fields: Fields, targets: Targets): Fields {
  const found = openFields(mapping).flatMap(field => {
    const record = candidatesOf(field, fields[field.name]).find(candidate => targets.has(candidate))
    const target = record && targets.get(record)!
    return target === undefined ? [] : [[field.name, field.isCanonical ? target.slice(target.indexOf('/') + 1) : target] as const]
  })
  return found.length === 0 ? fields : { ...fields, ...Object.fromEntries(found) }
}

/** Whether fields of this group have to be looked up among stored records. */
export const hasOpenFields = (mapping: Mapping): boolean => openFields(mapping).length > 0

/** A resource whose references to lines of this import lead to where those are stored. */
export function withTargets (resource: FhirResource, links: readonly Link[], targets: Targets): FhirResource {
  const texts = new Map(links.flatMap(({ reference, record }) => {
    const target = record && targets.get(record)
    return target === undefined ? [] : [[reference, target + suffixOf(reference, record!)] as const]
  }))
  return texts.size === 0 ? resource : withTexts(resource, texts, false) as FhirResource
}

/** A version of a canonical stays; that of a reference was another record's. */
function suffixOf (reference: string, record: string): string {
  const rest = reference.slice(record.length)
  return rest.startsWith('/') ? '' : rest
}

function withTexts (value: unknown, texts: ReadonlyMap<string, string>, isLink: boolean): unknown {
  if (typeof value === 'string') return isLink ? texts.get(value) ?? value : value
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return value
  if (Array.isArray(value)) return value.map(item => withTexts(item, texts, isLink))
  return Object.fromEntries(Object.entries(value as FhirElement).map(([key, item]) => [key, withTexts(item, texts, key === 'reference' || linkElements.has(key))]))
}

/** A field whose value alone does not say what it leads to. */
interface OpenField { readonly name: string, readonly types: readonly string[], readonly isCanonical: boolean }

const known = new WeakMap<Mapping, readonly OpenField[]>()

function openFields (mapping: Mapping): readonly OpenField[] {
  const fields = known.get(mapping) ?? Object.entries(mapping.fields).flatMap(([name, { options: { resolveAmong, canonicalOf } }]): OpenField[] => {
    if (canonicalOf !== undefined) return [{ name, types: [canonicalOf], isCanonical: true }]
    return resolveAmong === undefined ? [] : [{ name, types: resolveAmong, isCanonical: false }]
  })
  known.set(mapping, fields)
  return fields
}

function candidatesOf ({ types, isCanonical }: OpenField, value: unknown): readonly string[] {
  if (typeof value !== 'string') return []
  const own = `${types[0]}/`
  const bare = isCanonical && value.startsWith(own) ? value.slice(own.length) : value
  return /^[A-Za-z0-9.-]{1,64}$/.test(bare) ? types.map(type => `${type}/${bare}`) : []
}
