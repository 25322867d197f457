/**
 * What is checked of a change before any datastore is asked; a PATCH and a line of an import that names a stored record
 * do it alike.
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
  /** Those that are to be shown otherwise; null removes one. */
  readonly changed: Fields
  /** Those that were sent as they are shown: no change, but what is changed next to them must not take them away. */
  readonly stored: Fields
}

/**
 * What a change makes of the fields of a record. A record that was read can be sent back whole: what is sent as it is
 * shown and is read-only, or shows the same as another field, is left out.
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

/** JavaScript makes 4.1 of 4.10: who has not changed a number does not change its digits. */
const withShownDigits = (sent: unknown, shown: unknown): unknown =>
  typeof sent === 'number' && shown instanceof ExactNumber && Number(shown) === sent ? shown : sent

/**
 * Whether a field of the record is written, and by no other field; next to a change of the other, its value would undo
 * that.
 */
function isOfOwn ({ fields }: Mapping, name: string): boolean {
  if ((identityFields as readonly string[]).includes(name) || fields[name]!.options.readOnly === true) return false
  return (
    fields[name]!.options.shortcutOf === undefined &&
    !Object.values(fields).some(({ options }) => options.shortcutOf === name)
  )
}
