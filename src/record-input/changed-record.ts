/**
 * Checks a change before any request to a datastore; a PATCH and a line of an import that names a stored record use the
 * same checks.
 */
import { ExactNumber } from '../json/json.js'
import { deepEqual } from '../mappings/core/element.js'
import { identityFields, type Mapping } from '../mappings/core/mapping.js'
import { mapWithShown } from '../mappings/core/match.js'
import { checkChange } from '../mappings/core/validate.js'
import { throwIfIssues } from './new-record.js'

type Fields = Readonly<Record<string, unknown>>

/** The fields that a change names, each under its own name. */
interface ChangedFields {
  /** The fields with a new value; null removes one. */
  readonly changed: Fields
  /** The fields sent with the value shown: unchanged, but a change of a field next to them must not remove them. */
  readonly stored: Fields
}

/**
 * The fields of a record that a change sets. A client can send back the complete record that it read: a field sent with
 * the value shown that is read-only, or shows the same as another field, is left out.
 * @param shown the record as its client sees it
 * @throws {Failure} VALIDATION_ERROR with every failing field
 */
export function changedFields (mapping: Mapping, sent: Fields, shown: Fields): ChangedFields {
  const named = Object.entries(mapping.named(sent)).map(
    ([name, value]) => [name, mapWithShown(value, shown[name], withShownDigits)] as const
  )
  const isShown = ([name, value]: readonly [string, unknown]): boolean =>
    Object.hasOwn(shown, name) && deepEqual(value, shown[name])
  const changed = Object.fromEntries(named.filter(field => !isShown(field)))
  const stored = Object.fromEntries(named.filter(field => isShown(field) && isOfOwn(mapping, field[0])))
  throwIfIssues(checkChange(mapping, { ...stored, ...changed }, shown))
  return { changed, stored }
}

/** JavaScript makes 4.1 of 4.10: a client that has not changed a number does not change its digits. */
const withShownDigits = (sent: unknown, shown: unknown): unknown =>
  typeof sent === 'number' && shown instanceof ExactNumber && Number(shown) === sent ? shown : sent

/**
 * Whether a field is writable and no other field writes the same element; sent next to a change of that other field,
 * its value would undo the change.
 */
function isOfOwn ({ fields }: Mapping, name: string): boolean {
  if ((identityFields as readonly string[]).includes(name) || fields[name]!.options.readOnly === true) return false
  return (
    fields[name]!.options.shortcutOf === undefined &&
    !Object.values(fields).some(({ options }) => options.shortcutOf === name)
  )
}
