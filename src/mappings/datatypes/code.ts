import { encodeText } from '../../json/nodes/json-nodes.js'
import type { Codec } from '../core/codec.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement, itemsAt } from '../core/path.js'
import { copyNode, withPrinter } from '../core/print.js'
import type { CodingValue } from './concept.js'

/** Spellings that clients in the field send; the contract accepts them where FHIR's own is in the set. */
const otherSpellings: Readonly<Record<string, string>> = {
  'no-show': 'noshow',
  canceled: 'cancelled',
  in_progress: 'in-progress'
}

/** The other spellings that a set of codes accepts. */
function selectAliases (codes: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(otherSpellings).filter(([, code]) => codes.includes(code)))
}

interface CodeOptions<Shown extends string> {
  /** Codes that a stored resource may have and that are shown but not accepted. */
  readonly shown?: readonly Shown[]
}

/**
 * An element of type `code` with a required binding: accepts these codes, shows these and `shown`; any other code stays
 * stored but is not shown.
 */
export function code<const C extends string, const Shown extends string = never> (
  codes: readonly C[],
  options: CodeOptions<Shown> = {}
): Datatype<C | Shown> {
  const aliases = selectAliases(codes)
  const accept = (value: string): C => (aliases[value] ?? value) as C
  const known = new Set<string>([...codes, ...(options.shown ?? [])])
  const texts = [...known].map(encodeText)
  return datatype<C | Shown>({
    schema: {
      ...buildCodeSchema(codes, aliases),
      'x-bound': [...known],
      ...(options.shown && { 'x-shown': { type: 'string', enum: [...known] } })
    },
    kind: 'token',
    accept,
    read: withPrinter(
      (stored: unknown) => (typeof stored === 'string' && known.has(stored) ? (stored as C) : undefined),
      (nodes, node, prefix) => texts.some(text => nodes.isSame(node, text)) && copyNode(nodes, node, prefix)
    ),
    write: accept
  })
}

/** The JSON Schema of a choice among codes. */
function buildCodeSchema (codes: readonly string[], aliases: Readonly<Record<string, unknown>> = selectAliases(codes)) {
  return {
    type: 'string',
    enum: [...codes, ...Object.keys(aliases)],
    ...Object.keys(aliases).length > 0 && { 'x-aliases': aliases },
    'x-expects': `one of ${codes.join(', ')}`
  } as const
}

/**
 * A CodeableConcept bound to a set of one system, shown as the bare code. A code outside the set stays stored but is
 * not shown.
 * @param displays each code with its display
 */
export function conceptCode<const C extends string> (
  system: string,
  displays: Readonly<Record<C, string>>
): Datatype<C> {
  return datatype(
    createCodeCodec(system, displays, {
      findCoding: stored =>
        itemsAt(isElement(stored) ? stored : {}, 'coding').find(
          item => isElement(item) && item.system === system && isKnownCode(displays, item.code)
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
    createCodeCodec(system, displays, {
      findCoding: stored =>
        isElement(stored) && stored.system === system && isKnownCode(displays, stored.code) ? stored : undefined,
      wrap: item => item
    })
  )
}

interface Wrapping { findCoding (stored: unknown): unknown, wrap (coding: CodingValue): unknown }

function createCodeCodec<C extends string> (
  system: string,
  displays: Readonly<Record<C, string>>,
  { findCoding, wrap }: Wrapping
): Codec<C> {
  const codes = Object.keys(displays) as C[]
  const aliases = selectAliases(codes)
  const accept = (value: C): C => (aliases[value] ?? value) as C
  return {
    schema: buildCodeSchema(codes, aliases),
    kind: 'token',
    accept,
    read: stored => (findCoding(stored) as { code: C } | undefined)?.code,
    write: value => wrap({ system, code: accept(value), display: displays[accept(value)] })
  }
}

const isKnownCode = (displays: object, code: unknown): boolean =>
  typeof code === 'string' && Object.hasOwn(displays, code)
