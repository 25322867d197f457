import { datatype, type Datatype } from '../core/datatype.js'

/** Spellings that clients in the field send; the contract accepts them wherever FHIR's own is in the set. */
const otherSpellings: Readonly<Record<string, string>> = {
  'no-show': 'noshow',
  canceled: 'cancelled',
  in_progress: 'in-progress'
}

/** The other spellings that a set of codes accepts. */
export function aliasesOf (codes: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(otherSpellings).filter(([, code]) => codes.includes(code)))
}

interface CodeOptions<Shown extends string> {
  /** Codes that a stored resource may have and that are shown but not accepted. */
  readonly shown?: readonly Shown[]
}

/**
 * An element of type `code` with a required binding: takes these codes, shows these and `shown`; any other is kept
 * unseen.
 */
export function code<const C extends string, const Shown extends string = never> (
  codes: readonly C[],
  options: CodeOptions<Shown> = {}
): Datatype<C | Shown> {
  const aliases = aliasesOf(codes)
  const accept = (value: string): C => (aliases[value] ?? value) as C
  const known = new Set<string>([...codes, ...(options.shown ?? [])])
  return datatype<C | Shown>({
    schema: {
      ...codeSchema(codes, aliases),
      'x-bound': [...known],
      ...(options.shown && { 'x-shown': { type: 'string', enum: [...known] } })
    },
    kind: 'token',
    accept,
    read: stored => (typeof stored === 'string' && known.has(stored) ? (stored as C) : undefined),
    write: accept
  })
}

/** The JSON Schema of a choice among codes. */
export function codeSchema (codes: readonly string[], aliases: Readonly<Record<string, unknown>> = aliasesOf(codes)) {
  return {
    type: 'string',
    enum: [...codes, ...Object.keys(aliases)],
    ...Object.keys(aliases).length > 0 && { 'x-aliases': aliases },
    'x-expects': `one of ${codes.join(', ')}`
  } as const
}
