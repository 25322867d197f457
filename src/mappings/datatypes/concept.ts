import { createHash } from 'node:crypto'
import { encodeText, getNameIds, type JsonNode, type JsonNodes } from '../../json/nodes/json-nodes.js'
import type { FhirElement } from '../fhir.js'
import { putList, type Codec } from '../core/codec.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { withPrimitive } from '../core/outdated.js'
import { isElement, itemsAt, toItems } from '../core/path.js'
import {
  copyNode,
  encodeMemberPrefix,
  createMemberPrinter,
  withPrinter,
  printItems,
  printObject,
  getPrinter,
  printRead,
  printText,
  type Print
} from '../core/print.js'
import { record } from '../core/structure.js'
import { canonicalJson } from '../core/canonical-json.js'
import { absoluteUri, openCode, text, textUpTo } from './primitives.js'

/** A code of a code system: http://hl7.org/fhir/R4/datatypes.html#Coding */
export interface CodingValue { readonly system?: string, readonly code?: string, readonly display?: string }

/** A coded thing, or the words for it: http://hl7.org/fhir/R4/datatypes.html#CodeableConcept */
export type ConceptValue = string | ConceptObject

type ConceptObject = CodingValue & { readonly text?: string, readonly codings?: CodingValue[] }

/**
 * The system of the coding that represents plain text where a filter searches: FHIR's token parameters search only
 * codings. The simple form shows the text in its place.
 */
export const textSystem = 'urn:clinigate:text'

const maxTextCode = 100

/** The code of a text in {@link textSystem}: the text, or a digest of one that is no code or that servers cut off. */
export function toTextCode (text: string): string {
  const words = text.trim().replace(/\s+/g, ' ')
  if (words.length <= maxTextCode && !/[\\|$]/.test(words)) return words
  return `sha256-${createHash('sha256').update(words).digest('base64url')}`
}

const codingParts = { system: absoluteUri('system'), code: openCode('code'), display: text('display') }
const codeOrDisplay = { anyOf: [{ required: ['code'] }, { required: ['display'] }] } as const
const codeOrWords = { anyOf: [...codeOrDisplay.anyOf, { required: ['text'] }] } as const

const codingCodec = record(codingParts, {
  schema: { title: 'Coding', ...codeOrDisplay },
  meaning: ['system', 'code'],
  expects: 'an object with system, code and display'
}).codec

const printCodingMembers = createMemberPrinter(codingParts)
const printPlainCoding = getPrinter(codingCodec.read)
const ids = getNameIds('system', 'coding', 'text', 'display')
const textSystemText = encodeText(textSystem)

/** Whether a coding in a text is of the {@link textSystem}. */
function isOfTextSystem (nodes: JsonNodes, coding: JsonNode): boolean {
  const system = nodes.find(coding, ids.system)
  return system !== 0 && nodes.isSame(system, textSystemText)
}

const readCoding = (stored: unknown): CodingValue | undefined => {
  const shown = codingCodec.read(stored)
  return shown && withoutTextCode(shown)
}
const printReadCoding = printRead(readCoding)

const plainCoding: Codec<CodingValue> = {
  ...codingCodec,
  accept: value => withoutTextCode(codingCodec.accept!(value)),
  read: withPrinter(readCoding, (nodes, node, prefix) =>
    (isOfTextSystem(nodes, node) ? printReadCoding : printPlainCoding)(nodes, node, prefix))
}

export const coding: Datatype<CodingValue> = datatype<CodingValue>({
  ...plainCoding,
  searched: { ...plainCoding, write: (value, before) => codingCodec.write(withTextCode(value), before) }
})

/** A coding without the code that represents its display. */
function withoutTextCode (value: CodingValue): CodingValue {
  const { system, code, display } = value
  const isText = system === textSystem && display !== undefined && code === toTextCode(display)
  return isText ? { display } : value
}

/** A coding that has no code with one by which a filter finds its display. */
function withTextCode (value: CodingValue): CodingValue {
  const code = value.code === undefined && value.system === undefined ? toTextCode(value.display ?? '') : ''
  return code === '' ? value : { system: textSystem, code, ...value }
}

/** Words that represent a coding, for the sets whose codes clients send bare: `laboratory`. */
export type KnownCodes = Readonly<Record<string, CodingValue>>

/** Codings of one system by their codes. */
export function toKnownCodes (system: string, displays: Readonly<Record<string, string>>): KnownCodes {
  return Object.fromEntries(Object.entries(displays).map(([code, display]) => [code, { system, code, display }]))
}

interface ConceptOptions {
  /** Longest text. */
  readonly max?: number
  readonly known?: KnownCodes
}

const printCoding = getPrinter(plainCoding.read)
const [textPrefix, codingsPrefix] = [encodeMemberPrefix('text'), encodeMemberPrefix('codings')]

/** The members of a concept whose first shown coding is an item of a list. */
function printConceptMembers (nodes: JsonNodes, node: JsonNode): void {
  const list = nodes.find(node, ids.coding)
  const start = nodes.length
  let item = nodes.firstItem(list)
  for (; item !== 0; item = nodes.nextItem(list, item)) {
    printCodingMembers(nodes, item)
    if (nodes.length > start) break
  }
  if (item === 0) return
  const [text, display] = [nodes.find(node, ids.text), nodes.find(item, ids.display)]
  const words = text !== 0 && nodes.isText(text) ? text : display
  if (words !== 0 && nodes.isText(words)) copyNode(nodes, words, textPrefix)
  const from = nodes.nextItem(list, item)
  if (from !== 0) printItems(nodes, { list, from }, { item: printCoding, prefix: codingsPrefix })
}

const printCoded = printObject(printConceptMembers)
const printReadConcept = printRead(readConcept)

/** As {@link readConcept}. */
const printConcept: Print = (nodes, node, prefix) => {
  const list = nodes.find(node, ids.coding)
  for (let item = nodes.firstItem(list); item !== 0; item = nodes.nextItem(list, item)) {
    if (isOfTextSystem(nodes, item)) return printReadConcept(nodes, node, prefix)
  }
  if (printCoded(nodes, node, prefix)) return true
  const words = nodes.find(node, ids.text)
  return words !== 0 && printText(nodes, words, prefix)
}

const shownConcept = withPrinter(readConcept, printConcept)

/**
 * A CodeableConcept: in, text or a coding; out, a string when it holds only text, else its first coding with the text,
 * which is the display where there is no other. What the simple form does not show of it stays as long as one of its
 * codes does, or its only text: next to others it would describe something else.
 */
export function conceptOf (options: ConceptOptions = {}): Datatype<ConceptValue> {
  const { known = {}, max } = options
  const plainText = max === undefined ? text : textUpTo(max)
  const object = record(
    { ...codingParts, text: plainText('text'), codings: coding.list('codings') },
    { schema: { title: `CodeableConcept${max ?? ''}`, ...codeOrWords } }
  )
  const expects = `text, or an object with system, code and display${Object.keys(known).length > 0 ? `; known words: ${Object.keys(known).join(', ')}` : ''}`
  const accept = (value: ConceptValue): ConceptValue => {
    if (typeof value === 'string') return Object.hasOwn(known, value) ? withText(known[value]!) : value
    const named = withHead(value)
    return typeof named === 'string' ? named : withText(withoutTextCoding(object.codec.accept!(named)))
  }
  const codec: Codec<ConceptValue> = {
    schema: {
      ...(Object.keys(known).length === 0 && { title: `Code${max ?? ''}` }),
      anyOf: [plainText.codec.schema, object.codec.schema],
      'x-expects': expects,
      'x-shown-as': 'A string while there are words alone; an object with its text once there is a code.',
      ...(Object.keys(known).length > 0 && { 'x-aliases': known })
    },
    kind: 'token',
    accept,
    revises: true,
    identify: value =>
      isElement(value) && value.code !== undefined ? [canonicalJson([value.system, value.code])] : [],
    read: shownConcept,
    withoutDerived: withoutOldDisplay,
    write: (value, before) =>
      writeConcept(typeof value === 'string' ? accept(value) : withHead(value), before)
  }
  const write: Codec<ConceptValue>['write'] = (value, before) => withTextCoding(codec.write(value, before) as FhirElement)
  return datatype<ConceptValue>({ ...codec, searched: { ...codec, write } })
}

export const concept = conceptOf()

/** Words without a code of their own as the words alone, or with the first of the codings that come with them. */
function withHead (value: Exclude<ConceptValue, string>): ConceptValue {
  const { text, codings = [], ...head } = value
  if (text === undefined || Object.keys(head).length > 0) return value
  const [first, ...others] = [codings].flat()
  return first === undefined ? text : { ...first, text, ...(others.length > 0 && { codings: others }) }
}

function readConcept (stored: unknown): ConceptValue | undefined {
  if (!isElement(stored)) return undefined
  const plainText = text.codec.read(stored.text)
  // Each coding that is read is a new object, so the first one becomes the concept.
  let shown: { -readonly [name in keyof ConceptObject]: ConceptObject[name] } | undefined
  let others: CodingValue[] | undefined
  for (const item of listShownCodings(stored)) {
    const value = coding.codec.read(item)
    if (value === undefined) continue
    if (shown === undefined) shown = value
    else (others ??= []).push(value)
  }
  if (shown === undefined) return plainText
  const words = plainText ?? shown.display
  if (words !== undefined) shown.text = words
  if (others !== undefined) shown.codings = others
  return shown
}

/**
 * A concept whose text only repeats the display of the one before, with the display of now in its place: next to
 * another display it would go on naming the old one. A stored concept without text stays so.
 */
function withoutOldDisplay (value: ConceptValue, stored: unknown): ConceptValue {
  if (typeof value === 'string' || value.display === undefined || value.text === undefined) return value
  const shown = readConcept(stored)
  if (!isElement(stored) || typeof shown !== 'object') return value
  if (value.text !== shown.text || shown.text !== shown.display) return value
  if (stored.text !== undefined) return { ...value, text: value.display }
  const { text: _, ...own } = value
  return own
}

/** A code with its text, which is its display where no other was sent: both are shown always. */
function withText (value: ConceptValue): ConceptValue {
  if (typeof value === 'string' || value.text !== undefined || value.display === undefined) return value
  const { codings, ...head } = value
  return { ...head, text: value.display, ...(codings !== undefined && { codings }) }
}

function writeConcept (value: ConceptValue, before: unknown): FhirElement {
  if (typeof value === 'string') return { text: value }
  const { text: plainText, codings = [], ...head } = value
  const stored = isElement(before) ? before : {}
  const items = [head, ...[codings].flat()]
  const known = listShownCodings(stored)
  const isUnchanged =
    known.length === 0
      ? plainText !== undefined && stored.text === plainText
      : items.some(item => known.some(old => isElement(old) && hasSameCode(item, old)))
  const base = isUnchanged ? stored : {}
  const concept = { ...base, coding: putList(coding.codec, items, listShownCodings(base)).items }
  // A display that is shown as the text of a stored concept without text does not become its text when something else
  // changes.
  const isShownOnly = isUnchanged && base.text === undefined && plainText === head.display
  return isShownOnly ? concept : withPrimitive(concept, 'text', plainText)
}

const hasSameCode = (item: CodingValue, old: FhirElement): boolean =>
  item.system === old.system && item.code === old.code && (item.code !== undefined || item.display === old.display)

/** The codings of a stored concept without the one that represents its text. */
function listShownCodings (concept: FhirElement): readonly unknown[] {
  const codings = toItems(concept.coding)
  if (!codings.some(isTextCoding)) return codings
  const codes = collectTextCodes(concept.text, codings)
  return codings.filter(item => !isTextCoding(item) || !codes.has(item.code as string))
}

const isTextCoding = (item: unknown): item is FhirElement =>
  isElement(item) && item.system === textSystem && Object.keys(item).length === 2 && item.code !== undefined

/** The codes of the words of a concept: its text, and the displays of codings that have no code. */
function collectTextCodes (plainText: unknown, codings: readonly unknown[]): ReadonlySet<string> {
  const displays = codings.map(item => isElement(item) && item.code === undefined ? item.display : undefined)
  const words = [plainText, ...displays].filter(words => typeof words === 'string')
  return new Set(words.map(toTextCode).filter(code => code !== ''))
}

/** A concept that has words and no code, with a coding by which a filter finds it. */
function withTextCoding (concept: FhirElement): FhirElement {
  const codings = itemsAt(concept, 'coding')
  if (codings.some(item => isElement(item) && item.code !== undefined)) return concept
  const codes = [...collectTextCodes(concept.text, codings)]
  return codes.length === 0
    ? concept
    : { ...concept, coding: [...codings, ...codes.map(code => ({ system: textSystem, code }))] }
}

/** A value without the coding that represents its text, which a client may have sent back as it was shown. */
function withoutTextCoding (value: ConceptValue): ConceptValue {
  const isSent = typeof value !== 'string' && [value, ...value.codings ?? []].some(item => item.system === textSystem)
  return isSent ? readConcept(writeConcept(value, undefined))! : value
}
