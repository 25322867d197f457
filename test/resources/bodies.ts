/** Bodies that the gateway must accept, generated from the schemas of a mapping. */
import fc from 'fast-check'
import { ExactNumber } from '../../src/json/json.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { isElement } from '../../src/mappings/core/path.js'
import type { Schema } from '../../src/mappings/core/schema.js'
import { checkChange, checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { computeChangedFields } from '../../src/record-input/changed-record.js'
import { parseChanges } from '../../src/api/resources/changes.js'
import { anyFieldValues } from '../laws/arbitrary.js'
import type { World } from './fixture.js'

export type Body = Readonly<Record<string, unknown>>

/** The replacement by a test for a text, number or boolean of a value. */
type ChangeLeaf = (leaf: unknown, schema: Schema) => unknown

/** The assumed time of a request; the gateway's own clock fills in its defaults. */
export const createContext = {
  now: '2026-03-14T09:30:00Z',
  keyName: 'a test key',
  newUrl: () => 'https://example.org/canonical/1'
}

/** The value with each of its leaves changed, by the type in the schema. */
export function mapLeaves (schema: Schema, value: unknown, change: ChangeLeaf, defs = schema.$defs ?? {}): unknown {
  const mapPart = (part: Schema, item: unknown): unknown => mapLeaves(part, item, change, defs)
  if (schema.$ref !== undefined) return mapPart(defs[schema.$ref.replace('#/$defs/', '')]!, value)
  if (schema.type === undefined && schema.anyOf !== undefined) {
    return mapPart(
      schema.anyOf.find(branch => mayHold(branch, value, defs))!,
      value
    )
  }
  if (Array.isArray(value)) return value.map(item => mapPart(schema.items!, item))
  if (isElement(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, mapPart(schema.properties![name]!, item)])
    )
  }
  return change(value, schema)
}

function mayHold (schema: Schema, value: unknown, defs: Readonly<Record<string, Schema>>): boolean {
  if (schema.$ref !== undefined) return mayHold(defs[schema.$ref.replace('#/$defs/', '')]!, value, defs)
  if (schema.type === undefined) return schema.anyOf!.some(branch => mayHold(branch, value, defs))
  if (Array.isArray(value)) return schema.type === 'array'
  if (isElement(value)) {
    return schema.type === 'object' && Object.keys(value).every(name => Object.hasOwn(schema.properties!, name))
  }
  const type = value instanceof ExactNumber ? 'number' : typeof value
  return schema.type === type || (schema.type === 'integer' && type === 'number')
}

/** Whether a text of this schema refers to a record. */
const leadsToRecord = ({ pattern, 'x-references': types }: Schema): boolean =>
  types !== undefined ||
  (pattern !== undefined && new RegExp(pattern, 'u').test('Substance/1') && !new RegExp(pattern, 'u').test('some text'))

/** Whether a text of this schema is the URL of a definition, or the id of one. */
export const isCanonical = ({ pattern, 'x-references': types }: Schema): boolean =>
  types === undefined &&
  pattern !== undefined &&
  ['1', 'https://example.org/x|2'].every(text => new RegExp(pattern, 'u').test(text))

/** Puts records of the tenant in place of the references of a value. */
export function replaceWithRecords ({ recordOf }: World, pick = 0): ChangeLeaf {
  return (leaf, schema) => {
    // A server may print the same bytes otherwise.
    if (schema.format === 'base64') return Buffer.from(leaf as string, 'base64').toString('base64')
    if (isCanonical(schema)) return /^(?:https?|urn):/.test(leaf as string) ? leaf : 'https://example.org/definition/1'
    const named = /^Type\/id, where the type is one of (.*), or a name$/.exec(schema['x-expects'] ?? '')
    if (named !== null) return pick === 0 ? leaf : recordOf(named[1]!.split(', '), pick)
    if (!leadsToRecord(schema)) return leaf
    const types = schema['x-references'] ?? []
    const record = recordOf(types, pick)
    const [type, id] = record.split('/') as [string, string]
    // The first type may be left out, as most fields show it.
    return type === types[0] && new RegExp(schema.pattern!, 'u').test(id) ? id : record
  }
}

/** In addition texts and numbers that every FHIR server can find again. */
export function makeFindable (change: ChangeLeaf): ChangeLeaf {
  let count = 0
  return (leaf, schema) => {
    if (schema.type === 'number') {
      return Math.min(schema.maximum ?? Infinity, Math.max(schema.minimum ?? -Infinity, 12.5))
    }
    const changed = change(leaf, schema)
    const isFree =
      changed === leaf &&
      typeof leaf === 'string' &&
      schema.enum === undefined &&
      schema.pattern === undefined &&
      ['text', 'words', 'code'].includes(schema.format ?? '')
    return isFree ? `Word${++count}`.slice(0, schema.maxLength) : changed
  }
}

/** Bodies of one mapping for one tenant. */
export class Bodies {
  readonly #samples = new Map<string, unknown[]>()
  readonly #resources = new WeakMap<Body, FhirResource>()
  #full: readonly Body[] | undefined

  /** All fields that a client may write. */
  readonly names: readonly string[]

  constructor (readonly mapping: Mapping, readonly change: ChangeLeaf, readonly seed = 4) {
    this.names = Object.keys(anyFieldValues(mapping))
  }

  /** Some values of a field, always the same. */
  getSamples (name: string): readonly unknown[] {
    const made = this.#samples.get(name) ?? draw(this.mapping, name, this.seed)
      .map(value => mapLeaves(this.mapping.fields[name]!.schema, value, this.change))
    this.#samples.set(name, made)
    return made
  }

  /** Only the required fields; of several alternatives the first, or one of the wanted. */
  buildMinimal (wanted: readonly string[] = []): Body {
    const { fields } = this.mapping
    const needed = this.names.filter(
      name => fields[name]!.options.required === true && fields[name]!.options.default === undefined
    )
    const chooseAlternative = (name: string): string => {
      const rivals = this.names.filter(other => other === name || isRival(fields, name, other))
      return wanted.find(other => rivals.includes(other)) ?? needed.find(other => rivals.includes(other))!
    }
    const names = [...new Set(needed.map(chooseAlternative))]
    const bodies = sampleIndexes.map(i => Object.fromEntries(names.map(name => [name, this.getSamples(name)[i]])))
    const found = bodies.find(body => this.isTaken(body)) ?? this.#completeBody(bodies, wanted)
    if (found === undefined) throw new Error(`${this.mapping.path}: what is required alone is refused`)
    return found
  }

  /** The first of these bodies that one more field makes valid, where a rule requires one of several. */
  #completeBody (bodies: readonly Body[], wanted: readonly string[]): Body | undefined {
    for (const body of bodies) {
      const broken = [...new Set(this.#findInvalidFields(body))].filter(name => this.names.includes(name))
      for (const name of [...broken.filter(name => wanted.includes(name)), ...broken]) {
        const helped = this.getSamples(name).map(value => ({ ...body, [name]: value })).find(more => this.isTaken(more))
        if (helped !== undefined) return helped
      }
    }
    return undefined
  }

  /** Bodies as full as the rules of R4 allow, so many that every field is in one of them. */
  buildFull (): readonly Body[] {
    return (this.#full ??= this.#findReusable() ?? this.#makeFull())
  }

  /** Those that were found for other records of the same kinds, where they are accepted with these too. */
  #findReusable (): Body[] | undefined {
    const bodies = found.get(this.mapping)?.get(this.seed)?.map(indexes =>
      Object.fromEntries(Object.entries(indexes).map(([name, index]) => [name, this.getSamples(name)[index]]))
    )
    return bodies?.every(body => this.isTaken(body)) === true ? bodies : undefined
  }

  #makeFull (): Body[] {
    const bodies: Body[] = []
    const left = new Set(this.names)
    while (left.size > 0) {
      const body = this.#fillBody([...left, ...this.names.filter(name => !left.has(name))])
      if (Object.keys(body).filter(name => left.delete(name)).length === 0) {
        throw new Error(`${this.mapping.path}: no body can hold ${[...left].join()}`)
      }
      bodies.push(body)
    }
    const toSampleIndexes = (body: Body): SampleIndexes =>
      Object.fromEntries(Object.entries(body).map(([name, value]) => [name, this.getSamples(name).indexOf(value)]))
    found.set(this.mapping, new Map(found.get(this.mapping)).set(this.seed, bodies.map(toSampleIndexes)))
    return bodies
  }

  /** The smallest body for which a condition is true; undefined when no sample makes one. */
  findMinimalWith (holds: (body: Body) => boolean): Body | undefined {
    const minimal = this.buildMinimal()
    return this.names
      .flatMap(name => this.getSamples(name).map(value => ({ ...minimal, [name]: value })))
      .find(body => this.isTaken(body) && holds(body))
  }

  /** Whether the gateway should accept it. */
  isTaken (body: Body): boolean {
    return this.#findInvalidFields(body)?.length === 0
  }

  /** The rules of R4 that a body breaks; undefined when it is not even well-formed. */
  #findInvalidFields (body: Body): readonly string[] | undefined {
    const complete = this.mapping.withDefaults(body, createContext)
    if (checkCreate(this.mapping, complete).length > 0) return undefined
    return checkRules(this.mapping, this.mapping.toFhir(complete), { written: this.names }).flatMap(
      ({ expression = [] }) => expression
    )
  }

  /**
   * As many of the fields as possible, the first of them before all. A field that depends on another finds it in the
   * second pass.
   */
  #fillBody (names: readonly string[]): Body {
    const start = this.#addField(names[0]!, this.buildMinimal(names))
    return [...names, ...names].reduce(
      (body, name) => (this.#isShown(name, body) ? body : this.#addField(name, body)),
      start
    )
  }

  /** The body with one more field, and with another one changed for it where a rule requires that. */
  #addField (name: string, body: Body): Body {
    const { fields } = this.mapping
    if (Object.keys(body).some(other => other !== name && isRival(fields, name, other))) return body
    for (const value of this.getSamples(name)) {
      const more = { ...body, [name]: value }
      const broken = this.#findInvalidFields(more)
      if (broken?.length === 0) return more
      const partners = (broken ?? []).filter(other => other !== name && this.names.includes(other))
      const helped = partners
        .flatMap(other => this.getSamples(other).map(partner => ({ ...more, [other]: partner })))
        .find(changed => this.isTaken(changed))
      if (helped !== undefined) return helped
    }
    return body
  }

  /** Whether the body has the field, or shows it by another one. */
  #isShown (name: string, body: Body): boolean {
    if (Object.hasOwn(body, name)) return true
    const resource = this.#resources.get(body) ?? this.mapping.toFhir(body)
    this.#resources.set(body, resource)
    return this.mapping.fields[name]!.read(resource) !== undefined
  }
}

const drawn = new WeakMap<Mapping, Map<string, readonly unknown[]>>()

/** Some values of a field, generated once for all whose records replace its references. */
function draw (mapping: Mapping, name: string, seed: number): readonly unknown[] {
  const known = drawn.get(mapping) ?? new Map<string, readonly unknown[]>()
  drawn.set(mapping, known)
  const values = known.get(`${seed} ${name}`) ??
    fc.sample(anyFieldValues(mapping)[name]!, { numRuns: sampleIndexes.length, seed })
  known.set(`${seed} ${name}`, values)
  return values
}

/** Which of its samples each field of a body has. */
type SampleIndexes = Readonly<Record<string, number>>

/** The full bodies of each mapping by their seed: finding them takes longer than most tests with them. */
const found = new WeakMap<Mapping, Map<number, readonly SampleIndexes[]>>()

/** How many samples are tried of each field. */
const sampleIndexes = Array.from({ length: 20 }, (_, i) => i)

function isRival (fields: Mapping['fields'], a: string, b: string): boolean {
  const choice = fields[a]!.options.choice
  return choice !== undefined && choice === fields[b]!.options.choice
}

/** A stored record after a merge. */
export function applyMerge (mapping: Mapping, stored: StoredResource, merge: Body): StoredResource {
  const shown: Body = mapping.toSimple(stored)
  const { changed, stored: unchanged } = computeChangedFields(mapping, parseChanges(merge, shown), shown)
  return mapping.patch(stored, { ...unchanged, ...changed })
}

/**
 * A change of one field that the rules of R4 allow with the stored others, with another one where a rule requires it.
 */
export function findChange (bodies: Bodies, name: string, stored: StoredResource, added: Body = {}): Body | undefined {
  const { mapping } = bodies
  const shown: Body = mapping.toSimple(stored)
  const isTaken = (sent: Body): boolean => {
    const changes = parseChanges(sent, shown)
    const after = mapping.patch(stored, changes)
    return (
      after !== stored &&
      checkChange(mapping, changes, shown).length === 0 &&
      checkRules(mapping, after, { written: Object.keys(changes), before: stored }).length === 0
    )
  }
  const alone = bodies.getSamples(name).map(value => ({ ...added, [name]: value }))
  const others = bodies.names.filter(other => other !== name)
  return (
    alone.find(isTaken) ??
    others
      .flatMap(other => bodies.getSamples(other).flatMap(value => alone.map(change => ({ ...change, [other]: value }))))
      .find(isTaken)
  )
}
