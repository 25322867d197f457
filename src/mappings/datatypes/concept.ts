import type { FhirElement } from '../fhir.js'
import { putList, type Codec } from '../core/codec.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { withPrimitive } from '../core/outdated.js'
import { isElement, itemsAt, withMember } from '../core/path.js'
import { record } from '../core/structure.js'
import { canonicalJson } from '../core/canonical-json.js'
import { aliasesOf, codeSchema } from './code.js'
import { absoluteUri, openCode, text, textUpTo } from './primitives.js'

/** A code of a code system: http://hl7.org/fhir/R4/datatypes.html#Coding */
export interface CodingValue { readonly system?: string, readonly code?: string, readonly display?: string }

/** A coded thing, or the words for it: http://hl7.org/fhir/R4/datatypes.html#CodeableConcept */
export type ConceptValue = string | CodingValue & { readonly text?: string, readonly codings?: CodingValue[] }

const codingParts = { system: absoluteUri('system'), code: openCode('code'), display: text('display') }
const codeOrDisplay = { anyOf: [{ required: ['code'] }, { required: ['display'] }] } as const

export const coding: Datatype<CodingValue> = record(codingParts, {
  schema: { title: 'Coding', ...codeOrDisplay },
  meaning: ['system', 'code'],
  expects: 'an object with system, code and display'
})

/** Words that stand for a coding, for the sets whose codes clients send bare: `laboratory`. */
export type KnownCodes = Readonly<Record<string, CodingValue>>

/** Codings of one system by their codes. */
export function codingsOf (system: string, displays: Readonly<Record<string, string>>): KnownCodes {
  return Object.fromEntries(Object.entries(displays).map(([code, display]) => [code, { system, code, display }]))
}

interface ConceptOptions {
  /** Longest text. */
  readonly max?: number
  readonly known?: KnownCodes
}

/**
 * A CodeableConcept: in, text or a coding; out, a string when it holds only text. What the simple form does not show of
 * it stays as long as one of its codes does, or its only text: next to others it would tell of something else.
 */
export function conceptOf (options: ConceptOptions = {}): Datatype<ConceptValue> {
  const { known = {}, max } = options
  const plainText = max === undefined ? text : textUpTo(max)
  const object = record(
    { ...codingParts, text: plainText('text'), codings: coding.list('codings') },
    { schema: { title: `CodeableConcept${max ?? ''}`, ...codeOrDisplay } }
  )
  const expects = `text, or an object with system, code and display${Object.keys(known).length > 0 ? `; known words: ${Object.keys(known).join(', ')}` : ''}`
  const accept = (value: ConceptValue): ConceptValue =>
    typeof value !== 'string' ? object.codec.accept!(value) : Object.hasOwn(known, value) ? known[value]! : value
  return datatype<ConceptValue>({
    schema: {
      ...(Object.keys(known).length === 0 && { title: `Code${max ?? ''}` }),
      anyOf: [plainText.codec.schema, object.codec.schema],
      'x-expects': expects,
      ...(Object.keys(known).length > 0 && { 'x-aliases': known })
    },
    kind: 'token',
    accept,
    revises: true,
    identityOf: value =>
      isElement(value) && value.code !== undefined ? [canonicalJson([value.system, value.code])] : [],
    read: readConcept,
    write: (value, before) => writeConcept(typeof value === 'string' ? accept(value) : value, before)
  })
}

export const concept = conceptOf()

/**
 * A CodeableConcept bound to a set of one system, shown as the bare code. A code outside the set is kept unseen.
 * @param displays each code with its display
 */
export function conceptCode<const C extends string> (
  system: string,
  displays: Readonly<Record<C, string>>
): Datatype<C> {
  return datatype(
    codeIn(system, displays, {
      codingOf: stored =>
        itemsAt(isElement(stored) ? stored : {}, 'coding').find(
          item => isElement(item) && item.system === system && known(displays, item.code)
        ),
      wrap: item => ({ coding: [item] })
    })
  )
}

/** A Coding bound to a set of one system, shown as the bare code. */
export function codingCode<const C extends string> (
  system: string,
  displays: Readonly<Record<C, string>>
): Datatype<C> {
  return datatype(
    codeIn(system, displays, {
      codingOf: stored =>
        isElement(stored) && stored.system === system && known(displays, stored.code) ? stored : undefined,
      wrap: item => item
    })
  )
}

interface Wrapping { codingOf (stored: unknown): unknown, wrap (coding: CodingValue): unknown }

function codeIn<C extends string> (
  system: string,
  displays: Readonly<Record<C, string>>,
  { codingOf, wrap }: Wrapping
): Codec<C> {
  const codes = Object.keys(displays) as C[]
  const aliases = aliasesOf(codes)
  const accept = (value: C): C => (aliases[value] ?? value) as C
  return {
    schema: codeSchema(codes, aliases),
    kind: 'token',
    accept,
    read: stored => (codingOf(stored) as { code: C } | undefined)?.code,
    write: value => wrap({ system, code: accept(value), display: displays[accept(value)] })
  }
}

const known = (displays: object, code: unknown): boolean => typeof code === 'string' && Object.hasOwn(displays, code)

function readConcept (stored: unknown): ConceptValue | undefined {
  if (!isElement(stored)) return undefined
  const plainText = text.codec.read(stored.text)
  const [head, ...others] = itemsAt(stored, 'coding')
    .map(item => coding.codec.read(item))
    .filter(item => item !== undefined)
  if (head === undefined) return plainText
  return withMember(withMember(head as FhirElement, 'text', plainText), 'codings', others.length > 0 ? others : undefined)
}

function writeConcept (value: ConceptValue, before: unknown): FhirElement {
  if (typeof value === 'string') return { text: value }
  const { text: plainText, codings = [], ...head } = value
  const stored = isElement(before) ? before : {}
  const items = [head, ...[codings].flat()]
  const known = itemsAt(stored, 'coding')
  const isUnchanged =
    known.length === 0
      ? plainText !== undefined && stored.text === plainText
      : items.some(item => known.some(old => isElement(old) && hasSameCode(item, old)))
  const base = isUnchanged ? stored : {}
  return withPrimitive({ ...base, coding: putList(coding.codec, items, itemsAt(base, 'coding')).items }, 'text', plainText)
}

const hasSameCode = (item: CodingValue, old: FhirElement): boolean =>
  item.system === old.system && item.code === old.code && (item.code !== undefined || item.display === old.display)
