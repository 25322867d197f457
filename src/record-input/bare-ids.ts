/**
 * Ids without a type in fields that may refer to records of several types: found by the schema of the simple form, so
 * that every field that is declared as a reference takes part.
 */
import { Failure, fieldIssue, maxIssues, type Issue } from '../envelope/failures.js'
import { isValidId } from '../fhir/names.js'
import { mapItems } from '../json/list-origins.js'
import type { Mapping } from '../mappings/core/mapping.js'
import { isElement } from '../mappings/core/path.js'
import type { Schema } from '../mappings/core/schema.js'
import { mappings } from '../mappings/registry.js'
import type { TenantStore } from '../tenant-guard/guard.js'
import type { ReferenceFailure } from '../tenant-guard/writes/references.js'

type Fields = Readonly<Record<string, unknown>>

/** A bare id, with the types among which it is looked for when there is no record of the first. */
export interface BareId {
  /** The reference that is written for it, to a record of the first type. */
  readonly reference: string
  /** `Type/id` for each of the other types. */
  readonly others: readonly string[]
  /** Such as `participant[1].memberId`. */
  readonly path: string
  /** Whether any other text there is a name. */
  readonly isName: boolean
}

/** The fields with each bare id replaced by a reference; undefined leaves one unchanged. */
function mapBareIds (
  mapping: Mapping,
  fields: Fields,
  replace: (bareId: BareId) => string | undefined
): Fields {
  const getSchema = (name: string): Schema | undefined => mapping.fields[name]?.schema
  return mapMembers(fields, name => {
    const schema = getSchema(name)
    if (schema === undefined || !mayHoldBareIds(schema)) return undefined
    return { schemas: [schema], findSibling: getSchema, position: { root: schema, path: name, replace } }
  })
}

/** Every bare id in the fields that is written as a reference. */
export function listBareIds (mapping: Mapping, fields: Fields): readonly BareId[] {
  return collectBareIds(mapping, fields).filter(({ isName }) => !isName)
}

/** Every text in a field for names that has the form of an id. */
export function listNames (mapping: Mapping, fields: Fields): readonly BareId[] {
  return collectBareIds(mapping, fields).filter(({ isName }) => isName)
}

function collectBareIds (mapping: Mapping, fields: Fields): readonly BareId[] {
  const found: BareId[] = []
  mapBareIds(mapping, fields, bareId => {
    found.push(bareId)
    return undefined
  })
  return found
}

/**
 * The fields with each id of a record that was sent in a field for names as a reference. A text that is no record's id
 * stays a name. Costs one call, and only where such a text has the form of an id.
 * @throws {Failure} VALIDATION_ERROR for an id that records of several types have
 */
export async function resolveNames (mapping: Mapping, store: TenantStore, fields: Fields): Promise<Fields> {
  const names = listNames(mapping, fields)
  if (names.length === 0) return fields
  const owned = await store.filterOwned(listCandidates(store, names))
  return applyFound(mapping, fields, ({ isName, others }) =>
    isName ? others.filter(other => owned.has(other)) : []
  ) ?? fields
}

/**
 * The fields with the refused bare ids that lead to one record of another type; undefined when there is none. Costs at
 * most one call, and only a request whose references were refused.
 * @throws {Failure} VALIDATION_ERROR for an id that records of several types have
 */
export async function resolveBareIds (
  { mapping, store }: { readonly mapping: Mapping; readonly store: TenantStore },
  fields: Fields,
  { references }: ReferenceFailure
): Promise<Fields | undefined> {
  const refused = new Set(references)
  const open = listBareIds(mapping, fields).filter(({ reference }) => refused.has(reference))
  if (open.length === 0) return undefined
  const owned = await store.filterOwned(listCandidates(store, open))
  return applyFound(mapping, fields, ({ reference, others }) =>
    refused.has(reference) ? others.filter(other => owned.has(other)) : []
  )
}

/** The candidates for bare ids, of the types that the key may look up: a match reveals the type of a record. */
export function listCandidates (
  store: Pick<TenantStore, 'mayReferTo'>,
  bareIds: ReadonlyArray<Pick<BareId, 'others'>>
): string[] {
  return bareIds.flatMap(({ others }) => others.filter(other => store.mayReferTo(other.split('/', 1)[0]!)))
}

/**
 * The fields with each bare id replaced by the one record found for it; undefined when nothing was found for any.
 * @throws {Failure} VALIDATION_ERROR for an id for which several were found
 */
export function applyFound (
  mapping: Mapping,
  fields: Fields,
  find: (bareId: BareId) => readonly string[]
): Fields | undefined {
  const issues: Issue[] = []
  const after = mapBareIds(mapping, fields, bareId => {
    const found = find(bareId)
    if (found.length > 1) issues.push(toAmbiguityIssue(bareId.path, found))
    return found[0]
  })
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues: issues.slice(0, maxIssues) })
  return after === fields ? undefined : after
}

function toAmbiguityIssue (path: string, found: readonly string[]): Issue {
  const types = found.map(record => record.slice(0, record.indexOf('/')))
  const forms = types.map(type => `${type}/id`).join(' or ')
  return fieldIssue(path, `records of several types have this id; send it with the type, as ${forms}`, 'multiple-matches')
}

interface Position {
  /** The schema of the field, which has the definitions. */
  readonly root: Schema
  readonly path: string
  readonly replace: Parameters<typeof mapBareIds>[2]
}

function mapAt (value: unknown, schemas: readonly Schema[], position: Position): unknown {
  const forms = schemas.flatMap(schema => expandSchema(schema, position.root))
  const { path } = position
  if (typeof value === 'string') return mapText(value, forms, position)
  if (Array.isArray(value)) {
    const items = forms.flatMap(({ items }) => items ?? [])
    const after = mapItems(value, (item, at) => mapAt(item, items, { ...position, path: `${path}[${at}]` }))
    return after.some((item, at) => item !== value[at]) ? after : value
  }
  if (!isElement(value)) return value
  const findSibling = (name: string): Schema | undefined =>
    forms.map(({ properties }) => properties?.[name]).find(schema => schema !== undefined)
  return mapMembers(value, name => {
    const schemas = forms.flatMap(({ properties }) => properties?.[name] ?? [])
    return schemas.length === 0
      ? undefined
      : { schemas, findSibling, position: { ...position, path: `${path}.${name}` } }
  })
}

interface Member {
  readonly schemas: readonly Schema[]
  /** The schema of another member of the same object. */
  readonly findSibling: (name: string) => Schema | undefined
  readonly position: Position
}

/** The object with its members mapped; an id in the place of a name goes where ids stand. */
function mapMembers (object: Fields, memberOf: (name: string) => Member | undefined): Fields {
  const after: Record<string, unknown> = { ...object }
  let isChanged = false
  for (const [name, value] of Object.entries(object)) {
    const member = memberOf(name)
    if (member === undefined) continue
    const target = member.schemas[0]?.['x-display-of']
    if (target !== undefined) {
      const reference = toReference(value, target, member)
      if (reference === undefined) continue
      delete after[name]
      after[target] ??= reference
      isChanged = true
      continue
    }
    const mapped = mapAt(value, member.schemas, member.position)
    if (mapped === value) continue
    isChanged = true
    after[name] = mapped
  }
  return isChanged ? after : object
}

/** The reference to a record whose id was sent as its name, for the member that holds ids. */
function toReference (value: unknown, target: string, { findSibling, position }: Member): string | undefined {
  const schema = findSibling(target)
  const types = schema?.['x-references'] ?? schema?.anyOf?.[1]?.['x-references']
  return typeof value === 'string' && types !== undefined ? mapName(value, types, position) : undefined
}

/** The reference to the record whose id, with or without its type, was sent in place of a name. */
function mapName (text: string, types: readonly string[], { path, replace }: Position): string | undefined {
  const isTyped = types.some(type => text.startsWith(`${type}/`) && isValidId(text.slice(type.length + 1)))
  const others = isValidId(text) ? types.map(type => `${type}/${text}`) : isTyped ? [text] : []
  return others.length === 0 ? undefined : replace({ reference: '', others, path, isName: true })
}

function mapText (text: string, forms: readonly Schema[], position: Position): string {
  const { path, replace } = position
  const names = forms.map(schema => schema['x-names']).find(types => types !== undefined)
  if (names !== undefined) return isValidId(text) ? mapName(text, names, position) ?? text : text
  const types = forms.map(schema => schema['x-references']).find(types => types !== undefined)
  if (types === undefined || types.length < 2 || text.includes('/') || !isValidId(text)) return text
  const [main, ...rest] = types.includes('any') ? [types[0], ...allTypes.filter(type => type !== types[0])] : types
  return replace({ reference: `${main}/${text}`, others: rest.map(type => `${type}/${text}`), path, isName: false }) ?? text
}

/** The types of the simple form, which a reference to any record is looked for among. */
const allTypes: readonly string[] = [...new Set(mappings.map(({ type }) => type))]

/** A schema with its alternatives, definitions in the place of references to them. */
function expandSchema (schema: Schema, root: Schema): readonly Schema[] {
  const { $ref, anyOf = [] } = schema
  const defined = $ref === undefined ? undefined : root.$defs?.[$ref.slice('#/$defs/'.length)]
  return [schema, ...anyOf, ...(defined === undefined ? [] : [defined])].flatMap(form =>
    form === schema ? [form] : expandSchema(form, root)
  )
}

const known = new WeakMap<Schema, boolean>()

function mayHoldBareIds (schema: Schema): boolean {
  const found = known.get(schema) ?? hasSeveralTypes(schema)
  known.set(schema, found)
  return found
}

function hasSeveralTypes (schema: Schema): boolean {
  const { 'x-references': types = [], items, properties, anyOf = [], $defs } = schema
  if (schema['x-names'] !== undefined || schema['x-display-of'] !== undefined) return true
  const inner = [...anyOf, ...(items ? [items] : []), ...Object.values({ ...properties, ...$defs })]
  return types.length > 1 || inner.some(hasSeveralTypes)
}
