/** Values at the limit of what a field accepts, put in place of parts of a simple form. */
import fc, { type Arbitrary } from 'fast-check'
import { ExactNumber } from '../../src/json/json.js'

type Simple = Readonly<Record<string, unknown>>

/** Spaces and controls of all kinds, halves of a character, and the signs of paths, numbers and URIs. */
const characters = [
  ...'\u0000\u0001\t\n\r\u000b\u000c\u001c\u001f \u007f\u0085\u00a0\u1680\u2007\u2028\u202f\u3000\ufeffa/:Z.#-_|0=%<"',
  '\ud800', '\udc00'
]

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.string({ unit: fc.constantFrom(...characters), maxLength: 8 }),
  fc.constantFrom(
    '', '#', '#x', 'a  b', 'a\u00a0b', 'a\u200bb', 'http:a b', 'urn:uuid:x', 'urn:oid:1.2', 'Patient/1',
    'https://x/Patient/1', `Patient/${'a'.repeat(65)}`, 'a'.repeat(65), 'x'.repeat(1_100_000), '2026-02-30', '2026-03-14T24:00:00Z',
    '2026-03-14T09:30:60Z', 'AAAA', 'AA ==', '0', '-1'
  )
)

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(0, -0, 1e21, 2_147_483_648, -2_147_483_649, 0.5),
  fc.constantFrom('1.0', '1e2', '2.0', '-0', '1E3', '1e400').map(text => new ExactNumber(text))
)

const other = fc.constantFrom<unknown>({}, [], [[]], [null], true, false, null)

/** One part of a form to replace: the position is counted among all parts. */
interface Replacement {
  readonly place: number
  readonly text: string
  readonly number: unknown
  readonly other: unknown
}

/** A few replacements, each with a value of every kind, of which the one of the replaced part's kind is used. */
export const replacements: Arbitrary<readonly Replacement[]> = fc.array(
  fc.record({ place: fc.nat(), text, number, other }),
  { minLength: 1, maxLength: 3 }
)

/** The form with those replacements applied, one after the other, after which it is still accepted. */
export function withReplacements (
  simple: Simple,
  replacements: readonly Replacement[],
  isAccepted: (simple: Simple) => boolean
): Simple {
  return replacements.reduce((form, { place, text, number, other }) => {
    const paths = listPaths(form)
    const path = paths[place % paths.length]
    if (path === undefined) return form
    const changed = replaceAt(form, path, old =>
      typeof old === 'string' ? text : typeof old === 'number' || old instanceof ExactNumber ? number : other
    ) as Simple
    return isAccepted(changed) ? changed : form
  }, simple)
}

const isInner = (value: unknown): value is Simple =>
  typeof value === 'object' && value !== null && !(value instanceof ExactNumber)

function listPaths (value: unknown): ReadonlyArray<readonly string[]> {
  if (!isInner(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => [[name], ...listPaths(inner).map(path => [name, ...path])])
}

function replaceAt (
  value: unknown, [name, ...rest]: readonly string[], change: (old: unknown) => unknown
): unknown {
  if (name === undefined) return change(value)
  const copy = (Array.isArray(value) ? [...value] : { ...value as Simple }) as Record<string, unknown>
  copy[name] = replaceAt(copy[name], rest, change)
  return copy
}
