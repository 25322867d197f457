import { isPart, OpenApiDocument, type Operation, type Part, type Schemas } from './document.js'

/** Something that the other document has and this gateway has not, or has with another type. */
export interface Difference {
  readonly kind: 'operation' | 'field' | 'filter' | 'reference'
  readonly problem: 'missing' | 'other type' | 'not followed'
  /** `POST /v1/patients`, as the other document has it; absent for a reference. */
  readonly operation?: string
  /** Where a field is. */
  readonly in?: 'request' | 'response'
  /** `contact[].phone` */
  readonly name?: string
  readonly theirs?: readonly string[]
  readonly ours?: readonly string[]
}

/** More than this is no difference but another API. */
const maxDifferences = 10_000
/** Fields in fields; a schema may hold itself. */
const maxDepth = 24

/**
 * The operations, fields and filters of another document that this gateway lacks or types differently. A field of a
 * request must be taken in each of their types; one of a response must have no other type than theirs.
 */
export function compareDocuments (theirs: OpenApiDocument, ours: OpenApiDocument): readonly Difference[] {
  const comparison = new Comparison(theirs, ours)
  const own = ours.collectOperations()
  for (const [key, operation] of theirs.collectOperations()) comparison.compareOperation(operation, own.get(key))
  for (const name of theirs.unresolved) comparison.add({ kind: 'reference', problem: 'not followed', name })
  return comparison.differences
}

type FieldLocation = Required<Pick<Difference, 'operation' | 'in'>> & { readonly compared: Map<Part, Set<Part>> }

class Comparison {
  readonly differences: Difference[] = []

  constructor (private readonly theirs: OpenApiDocument, private readonly ours: OpenApiDocument) {}

  add (difference: Difference): void {
    if (this.differences.length < maxDifferences) this.differences.push(difference)
  }

  compareOperation ({ name: operation, ...theirs }: Operation, ours: Operation | undefined): void {
    if (ours === undefined) return this.add({ kind: 'operation', problem: 'missing', operation })
    for (const [name, schemas] of theirs.query) this.#compareFilter({ operation, name }, schemas, ours.query.get(name))
    for (const part of ['request', 'response'] as const) {
      this.#compareValue({ operation, in: part, compared: new Map() }, [], [theirs[part], ours[part]])
    }
  }

  #compareFilter (named: Pick<Difference, 'operation' | 'name'>, theirs: Schemas, ours: Schemas | undefined): void {
    if (ours === undefined) return this.add({ kind: 'filter', problem: 'missing', ...named })
    // On the wire a filter is text, and a list is several of them.
    const types = { theirs: collectScalarTypes(this.theirs, theirs), ours: collectScalarTypes(this.ours, ours) }
    if (types.ours.includes('string') || isWithin(types.theirs, types.ours)) return
    this.add({ kind: 'filter', problem: 'other type', ...named, ...types })
  }

  #compareValue (location: FieldLocation, path: readonly string[], [theirs, ours]: readonly [Schemas, Schemas]): void {
    if (theirs.length === 0 || ours.length === 0 || path.length > maxDepth || this.#isKnown(location, theirs, ours)) {
      return
    }
    const own = this.ours.flatten(ours)
    const other = this.theirs.flatten(theirs)
    const types = { theirs: collectTypes(other), ours: collectTypes(own) }
    const fits = location.in === 'request' ? isWithin(types.theirs, types.ours) : isWithin(types.ours, types.theirs)
    const { compared: _, ...where } = location
    if (!fits) this.add({ kind: 'field', problem: 'other type', ...where, name: formatFieldPath(path), ...types })
    const names = collectProperties(own)
    for (const [name, schemas] of collectProperties(other)) {
      const fields = names.get(name)
      const at = [...path, name]
      if (fields !== undefined) this.#compareValue(location, at, [schemas, fields])
      else if (names.size > 0) this.add({ kind: 'field', problem: 'missing', ...where, name: formatFieldPath(at) })
    }
    this.#compareValue(location, [...path, '[]'], [collectItemSchemas(other), collectItemSchemas(own)])
  }

  /** Whether these were compared in this place before: a schema that holds itself is compared once. */
  #isKnown ({ compared }: FieldLocation, [theirs]: Schemas, [ours]: Schemas): boolean {
    const own = compared.get(theirs!) ?? new Set()
    compared.set(theirs!, own)
    if (own.has(ours!)) return true
    own.add(ours!)
    return false
  }
}

/** `contact[].phone`; `the whole body` for no path. */
const formatFieldPath = (path: readonly string[]): string =>
  path.length === 0 ? 'the whole body' : path.join('.').replaceAll('.[]', '[]')

/** The JSON types of a value, without null; none where any is possible. */
function collectTypes (flat: Schemas): readonly string[] {
  const types = flat.flatMap(schema => {
    const { type, enum: values, const: constant, properties, items } = schema
    if (type !== undefined) return [type].flat().map(String)
    if (Array.isArray(values)) return values.map(getJsonType)
    if (constant !== undefined) return [getJsonType(constant)]
    return properties !== undefined ? ['object'] : items !== undefined ? ['array'] : []
  })
  return [...new Set(types)].filter(type => type !== 'null').sort()
}

function getJsonType (value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function collectScalarTypes (document: OpenApiDocument, schemas: Schemas): readonly string[] {
  const flat = document.flatten(schemas)
  return [...new Set([...collectTypes(flat), ...collectTypes(document.flatten(collectItemSchemas(flat)))])].filter(
    type => type !== 'array'
  )
}

/** Whether each of some types is among others; a schema without types matches. */
function isWithin (types: readonly string[], others: readonly string[]): boolean {
  if (types.length === 0 || others.length === 0) return true
  return types.every(type => others.includes(type) || (type === 'integer' && others.includes('number')))
}

function collectProperties (flat: Schemas): ReadonlyMap<string, Schemas> {
  const found = new Map<string, Part[]>()
  for (const { properties } of flat) {
    if (!isPart(properties)) continue
    for (const [name, schema] of Object.entries(properties)) {
      found.set(name, [...found.get(name) ?? [], isPart(schema) ? schema : {}])
    }
  }
  return found
}

const collectItemSchemas = (flat: Schemas): Schemas => flat.flatMap(({ items }) => isPart(items) ? [items] : [])
