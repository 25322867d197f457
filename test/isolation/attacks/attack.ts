/**
 * One hostile or honest request, as a readable row. Names in braces stand for those of {@link Names}; a row with
 * `{stranger}` or `{secret}` is sent once for each thing that is not the caller's, and all responses must be equal.
 */
export interface Attack {
  /** The row of the isolation rules that it tests: `A3 chain`. */
  readonly row: string
  /** Method and target below `/v1/fhir`; a target that begins with `!` is sent whole. */
  readonly send: string
  /** Whole lines, in their order: `if-match: W/"1"`. */
  readonly headers?: readonly string[]
  /** Text is sent unchanged; anything else as JSON. */
  readonly body?: unknown
  /** The key: the attacker's unless given. */
  readonly as?: 'attacker' | 'reader' | 'writer' | 'live' | 'victim' | 'nobody'
  readonly status: number | readonly number[]
  /** Texts that the response to an honest tenant must contain. */
  readonly shows?: readonly string[]
  /** Texts that the response must not contain, in addition to all secrets. */
  readonly hides?: readonly string[]
  /** Where only one of the servers can show it. */
  readonly on?: 'hapi' | 'sandbox'
  /** The datastore holds what no gateway would have stored, so the guard reports it. */
  readonly incident?: boolean
  /** `HTTP/1.1` unless given. */
  readonly http?: '1.0' | '1.1'
}

/** What the names in braces stand for. */
export type Names = Readonly<Record<string, string>>

/** Things that are not the caller's, each of one length so that responses can be compared byte for byte. */
const strangers = [
  'unknown',
  'theirs',
  'theirsGone',
  'ownGone',
  'liveOnly',
  'untagged',
  'twoTags',
  'lookalike'
] as const

/** A text that only the other tenant has stored, and one that no tenant has. */
const secrets = ['theirMark', 'nobodysMark'] as const

/** The form that HTML forms and FHIR searches have. */
export const form = 'content-type: application/x-www-form-urlencoded'

/** The rows of one section, each named after it. */
export const defineSection = (rows: readonly Attack[]): readonly Attack[] => rows

/** The requests that a row stands for, by what takes the place of `{stranger}` or `{secret}`. */
export function listVariants (
  attack: Attack,
  names: Names
): ReadonlyArray<{ readonly variant: string; readonly attack: Attack }> {
  const text = JSON.stringify(attack)
  const kinds: readonly string[] = text.includes('{stranger}') ? strangers : text.includes('{secret}') ? secrets : ['']
  return kinds.map(kind => ({
    variant: names[kind] ?? '',
    attack: replaceNames(attack, { ...names, stranger: names[kind] ?? '', secret: names[kind] ?? '' })
  }))
}

/** The same value with every name in braces replaced; an unknown name is a mistake in the table. */
function replaceNames<T> (value: T, names: Names): T {
  if (typeof value === 'string') {
    return value.replace(/\{([a-z][A-Za-z]*)\}/g, (_, name: string) => resolveName(name, names)) as T
  }
  if (Array.isArray(value)) return value.map(item => replaceNames(item, names)) as T
  if (value === null || typeof value !== 'object' || value instanceof Buffer) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [replaceNames(key, names), replaceNames(item, names)])
  ) as T
}

function resolveName (name: string, names: Names): string {
  const found = names[name]
  if (found === undefined) throw new Error(`{${name}} stands for nothing`)
  return found
}
