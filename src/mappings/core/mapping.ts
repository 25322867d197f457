import { getCreationTime, type FhirElement, type FhirResource, type StoredResource } from '../fhir.js'
import {
  deepEqual,
  type Element,
  type Elements,
  type DefaultContext,
  type CreateContext,
  type InferFields
} from './element.js'
import { noParameter, type Filter, type Filters } from './filter.js'
import { buildOrderRules } from './date-order.js'
import type { Rule } from './rule.js'
import type { Schema } from './schema.js'
import { withShortcuts } from './shortcuts.js'
import { encodeText, getNameIds, type JsonNode, type JsonNodes } from '../../json/nodes/json-nodes.js'
import { printJson } from '../../json/json.js'
import { canPrint, copyNode, encodeMemberPrefix, createMemberPrinter } from './print.js'
import { createReader } from './structure.js'

/** The declaration in a resource file. */
interface Declaration<E extends Elements> {
  /** The resource's name in the URL: `/v1/<path>`. */
  readonly path: string
  /** The name of the create operation in OpenAPI. */
  readonly operation: string
  /** The description of the resource, in one sentence. */
  readonly about: string
  readonly fields: E
  /** Filters besides those that stand with a field of the same name. */
  readonly filters?: Filters
  readonly rules?: readonly Rule[]
  /** Moves what clients send to the fields that show it, where an `alias` is not enough. */
  readonly normalizeInput?: InputNormalizer
  /** Records that are never changed, and are deleted only by a key that may do everything: audit events. */
  readonly appendOnly?: boolean
}

/**
 * Derives the value of a field from other sent fields. `emptied` is the value of a field of which nothing is left: null
 * in a change, absent in a new record.
 */
export type InputNormalizer = (sent: SentFields, emptied: null | undefined) => SentFields

type SentFields = Readonly<Record<string, unknown>>

/** The fields that every resource has and no client writes. */
interface Identity {
  readonly id: string
  readonly resourceType: string
  readonly versionId?: string
  readonly createdAt?: string
  readonly updatedAt?: string
}

/** The names of {@link Identity}. */
export const identityFields = ['id', 'resourceType', 'versionId', 'createdAt', 'updatedAt'] as const

/**
 * One resource group: the simple form and FHIR R4 as two views of one thing. A lens, not a codec: see docs/decisions.
 */
export interface Mapping<E extends Elements = Elements> extends Omit<Declaration<E>, 'filters'> {
  /** The R4 resource type. */
  readonly type: string
  readonly filters: Filters
  readonly rules: readonly Rule[]
  /** The fields that a resource shows; what no field shows is not lost, see {@link Mapping.patch}. */
  toSimple(resource: FhirElement): Partial<InferFields<E>>
  /** The simple form with identity and version, as a client receives it. */
  present(stored: StoredResource): Identity & Partial<InferFields<E>>
  /**
   * Writes the same of a record in a text, which has an id and a meta, as the members of an object with a comma before
   * each. Absent if reading the record is no slower.
   */
  readonly print?: (nodes: JsonNodes, record: JsonNode) => void
  /**
   * The sent values with each field under its own name; where both names were sent, the alias stays and is no field.
   */
  resolveAliases(sent: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  /** The sent values of a create, each field under its own name, with the defaults filled in. */
  withDefaults(sent: Readonly<Record<string, unknown>>, createContext: CreateContext): Readonly<Record<string, unknown>>
  /** A new resource from a complete simple form. */
  toFhir(simple: Readonly<Record<string, unknown>>): FhirResource
  /** The resource with the named fields set, or removed by null; the same object when nothing changes. */
  patch<R extends FhirElement>(resource: R, changes: Readonly<Record<string, unknown>>): R
}

/** Builds a mapping from its declaration. */
export function mapping<const E extends Elements> (type: string, declaration: Declaration<E>): Mapping<E> {
  const { fields, filters, rules = [], normalizeInput: normalize = sent => sent } = declaration
  const patch = createPatcher(fields)
  const resolveAliases = createAliasResolver(fields)
  const readFields = createReader(fields)
  const printFields = createMemberPrinter(fields)
  return {
    ...declaration,
    type,
    rules: [...rules, ...buildOrderRules(fields)],
    filters: { ...buildFieldFilters(fields), ...filters },
    toSimple: resource => readFields(resource) ?? {},
    ...canPrint(fields) && {
      print (nodes: JsonNodes, record: JsonNode): void {
        nodes.index(record)
        printIdentity(nodes, record)
        printFields(nodes, record)
      }
    },
    present: stored => readFields(stored, readIdentity(stored)) as Identity & Partial<InferFields<E>>,
    resolveAliases: sent => normalize(resolveAliases(sent), null),
    withDefaults (sent, createContext) {
      const simple = normalize(resolveAliases(sent), undefined)
      return { ...buildDefaults(fields, { ...createContext, simple }), ...simple }
    },
    toFhir: simple => patch<FhirResource>({ resourceType: type }, simple),
    patch
  }
}

/** The whole fields are written first; a shortcut sent next to the field it is a part of is joined to it. */
function createPatcher (fields: Elements) {
  const entries = Object.entries(fields).filter(([, element]) => element.options.readOnly !== true)
  const inOrder = [
    ...entries.filter(([, { options }]) => options.shortcutOf === undefined),
    ...entries.filter(([, { options }]) => options.shortcutOf !== undefined)
  ]
  return <R extends FhirElement>(resource: R, changes: Readonly<Record<string, unknown>>): R =>
    inOrder.reduce<FhirElement>((changed, [name, element]) => {
      if (!Object.hasOwn(changes, name)) return changed
      const full = element.options.shortcutOf
      if (full !== undefined && (changes[full] ?? undefined) !== undefined) {
        return withShortcuts(changed, fields, { full, changes })
      }
      const value = changes[name] ?? undefined
      // A value that is shown already is left alone, with any other forms of its choice that another system stored.
      return value !== undefined && deepEqual(element.read(changed), value) ? changed : element.write(changed, value)
    }, resource) as R
}

function createAliasResolver (fields: Elements): Mapping['resolveAliases'] {
  const aliases = Object.entries(fields).flatMap(
    ([
      name,
      {
        options: { alias }
      }
    ]) => (alias === undefined ? [] : [{ name, alias }])
  )
  return sent => aliases.reduce((simple, { name, alias }) => {
    if (!Object.hasOwn(simple, alias) || Object.hasOwn(simple, name)) return simple
    const { [alias]: value, ...others } = simple
    return { ...others, [name]: value }
  }, sent)
}

function buildDefaults (fields: Elements, context: DefaultContext): Record<string, unknown> {
  const filled: Record<string, unknown> = {}
  for (const [name, { options }] of Object.entries(fields)) {
    if (
      options.default === undefined ||
      Object.hasOwn(context.simple, name) ||
      hasRival(fields, options.choice, context.simple)
    ) { continue }
    const value = typeof options.default === 'function' ? options.default(context) : options.default
    if (value !== undefined) filled[name] = value
  }
  return filled
}

function hasRival (fields: Elements, choice: string | undefined, simple: DefaultContext['simple']): boolean {
  return (
    choice !== undefined &&
    Object.entries(fields).some(([name, { options }]) => options.choice === choice && Object.hasOwn(simple, name))
  )
}

/** A default that is the time of the request. */
export const now = ({ now }: DefaultContext): string => now

/** A default for definitions, which are identified by their URL. */
export const newUrl = ({ newUrl }: DefaultContext): string => newUrl()

function buildFieldFilters (fields: Elements): Filters {
  return Object.fromEntries(Object.entries(fields)
    .filter(([, element]) => element.options.filter !== undefined)
    .map(([name, element]) => [element.options.filterName ?? name, toFilter(element)]))
}

function toFilter ({ kind, path, schema, options }: Element): Filter {
  const { filter, canonicalOf } = options
  const types =
    canonicalOf === undefined ? (schema['x-references'] ?? schema.anyOf?.[1]?.['x-references']) : [canonicalOf]
  const aliases = schema['x-aliases'] ?? schema.anyOf?.[1]?.['x-aliases']
  const codes = schema['x-bound']
  return {
    param: filter!,
    kind,
    ...(types && { types }),
    ...(aliases && { aliases }),
    ...(codes && { codes }),
    ...(canonicalOf && { canonicalOf }),
    ...(filter === noParameter ? { paths: [path] } : { hasText: [schema, ...(schema.anyOf ?? [])].some(isConcept) })
  }
}

/** Whether values are CodeableConcepts, which have words to search by. */
const isConcept = ({ anyOf }: Schema): boolean => anyOf?.[1]?.properties?.codings !== undefined

function readIdentity (stored: StoredResource): Record<keyof Identity, unknown> {
  const { resourceType, id, meta: { versionId, lastUpdated } } = stored
  const shown: Record<string, unknown> = { id, resourceType }
  const createdAt = getCreationTime(stored)
  if (versionId !== undefined) shown.versionId = versionId
  if (createdAt !== undefined) shown.createdAt = createdAt
  if (lastUpdated !== undefined) shown.updatedAt = lastUpdated
  return shown
}

const ids = getNameIds('id', 'resourceType', 'meta', 'versionId', 'lastUpdated', 'extension')
const prefixes = Object.fromEntries(identityFields.map(name => [name, encodeMemberPrefix(name)])) as
  Readonly<Record<keyof Identity, Uint8Array>>
const firstVersion = encodeText('1')

/** As {@link readIdentity}. */
function printIdentity (nodes: JsonNodes, record: JsonNode): void {
  const [id, type] = [nodes.find(record, ids.id), nodes.find(record, ids.resourceType)]
  const meta = nodes.find(record, ids.meta)
  const [version, updated] = [nodes.find(meta, ids.versionId), nodes.find(meta, ids.lastUpdated)]
  copyNode(nodes, id, prefixes.id)
  copyNode(nodes, type, prefixes.resourceType)
  if (version === 0 || updated === 0 || !nodes.isString(version) || !nodes.isString(updated)) {
    const shown = printJson(readIdentity({ meta: nodes.getValue(meta) } as StoredResource))
    if (shown !== '{}') nodes.writeText(`,${shown.slice(1, -1)}`)
    return
  }
  copyNode(nodes, version, prefixes.versionId)
  if (nodes.isSame(version, firstVersion)) copyNode(nodes, updated, prefixes.createdAt)
  else if (nodes.find(meta, ids.extension) !== 0) {
    const created = getCreationTime({ meta: nodes.getValue(meta) as StoredResource['meta'] })
    if (created !== undefined) {
      nodes.write(prefixes.createdAt)
      nodes.writeText(JSON.stringify(created))
    }
  }
  copyNode(nodes, updated, prefixes.updatedAt)
}
