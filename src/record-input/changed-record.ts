/**
 * Checks a change before any request to a datastore; a PATCH and a line of an import that names a stored record use the
 * same checks.
 */
import { fieldIssue, type Issue } from '../envelope/failures.js'
import { ExactNumber } from '../json/json.js'
import type { FhirElement } from '../mappings/fhir.js'
import { deepEqual } from '../mappings/core/element.js'
import { identityFields, type Mapping } from '../mappings/core/mapping.js'
import { mapWithShown } from '../mappings/core/match.js'
import { isElement } from '../mappings/core/path.js'
import { checkContradictions } from '../mappings/core/shortcuts.js'
import { checkChange, checkRules } from '../mappings/core/validate.js'
import { throwIfIssues } from './new-record.js'

type Fields = Readonly<Record<string, unknown>>

/** The fields that a change names, each under its own name. */
interface ChangedFields {
  /** The fields with a new value; null removes one. */
  readonly changed: Fields
  /** The fields sent with the value shown: unchanged, but a change of a field next to them must not remove them. */
  readonly stored: Fields
  /** Of a record that was read: the fields sent with the value shown that share it with a field that changed. */
  readonly echoed: Fields
}

/**
 * The fields of a record that a change sets. A client can send back the complete record that it read: a field sent with
 * the value shown that is read-only, or shows the same as another field, is left out. A shortcut next to its full list
 * is joined to it as in a new record, unless the client read both and changed one of them: the other follows.
 * @param shown the record as its client sees it
 * @throws {Failure} VALIDATION_ERROR with every failing field
 */
export function computeChangedFields (mapping: Mapping, sent: Fields, shown: Fields): ChangedFields {
  const named = Object.entries(mapping.resolveAliases(sent)).map(
    ([name, value]) => [name, mapWithShown(value, shown[name], withShownDigits)] as const
  )
  const isShown = ([name, value]: readonly [string, unknown]): boolean =>
    Object.hasOwn(shown, name) && deepEqual(value, shown[name])
  const changed = Object.fromEntries(named.filter(field => !isShown(field)))
  const hasChangedCounterpart = (name: string): boolean =>
    listCounterparts(mapping, name).some(other => Object.hasOwn(changed, other))
  const unchanged = Object.fromEntries(named.filter(field => isShown(field) && hasChangedCounterpart(field[0])))
  const [requested, echoed] = wasRead(sent) ? [{}, unchanged] : [unchanged, {}]
  const stored = {
    ...Object.fromEntries(named.filter(field => isShown(field) && isOfOwn(mapping, field[0]))),
    ...requested
  }
  throwIfIssues(checkChange(mapping, { ...stored, ...changed }, shown))
  return { changed, stored, echoed }
}

/** Whether a body is a record as a client read it: no FHIR resource and no new record has these names. */
export const wasRead = (sent: Fields): boolean => 'updatedAt' in sent || 'versionId' in sent

/** A warning for each field or text that was sent as it had been read, and now shows the change of another one. */
export function buildEchoWarnings (mapping: Mapping, { echoed, changed }: ChangedFields, after: FhirElement): Issue[] {
  const texts = Object.entries(changed).flatMap(
    ([name, value]) => findReplacedTexts(value, mapping.fields[name]?.read(after), name)
  )
  const fields = Object.keys(echoed)
    .filter(name => !deepEqual(mapping.fields[name]!.read(after), echoed[name]))
    .map(name => {
      const other = listCounterparts(mapping, name).find(other => Object.hasOwn(changed, other))
      return [name, `was sent unchanged and shows by now what ${other} says; leave it out where ${other} changes`] as const
    })
  const ofText = 'repeated the display of before and shows the one of now; a change of the text alone stores other words'
  return [...fields, ...texts.map(path => [path, ofText] as const)].map(
    ([path, text]) => ({ ...fieldIssue(path, text, 'informational'), severity: 'warning' })
  )
}

/** The paths of the texts of codes that are shown otherwise than they were sent next to a display. */
function findReplacedTexts (sent: unknown, shown: unknown, path: string): readonly string[] {
  if (Array.isArray(sent)) {
    return Array.isArray(shown) ? sent.flatMap((item, i) => findReplacedTexts(item, shown[i], `${path}[${i}]`)) : []
  }
  if (!isElement(sent) || !isElement(shown)) return []
  const isReplaced = sent.display !== undefined && sent.text !== undefined && sent.text !== shown.text
  const below = Object.entries(sent).flatMap(([name, item]) => findReplacedTexts(item, shown[name], `${path}.${name}`))
  return isReplaced && shown.text === shown.display ? [`${path}.text`, ...below] : below
}

/**
 * The record after a change, the same object when nothing changes.
 * @throws {Failure} VALIDATION_ERROR with every R4 rule that the change breaks, and with both of two fields that were
 * sent and cannot both be shown
 */
export function changeRecord<R extends FhirElement> (
  mapping: Mapping,
  before: R,
  { changed, stored }: ChangedFields
): R {
  const after = mapping.patch(before, { ...stored, ...changed })
  throwIfIssues([
    ...checkContradictions(mapping.fields, { ...stored, ...changed }, () => after),
    ...(after === before ? [] : checkRules(mapping, after, { written: Object.keys(changed), before }))
  ])
  return after
}

/** JavaScript makes 4.1 of 4.10: a client that has not changed a number does not change its digits. */
const withShownDigits = (sent: unknown, shown: unknown): unknown =>
  typeof sent === 'number' && shown instanceof ExactNumber && Number(shown) === sent ? shown : sent

/**
 * Whether a field is writable and no other field writes the same element; sent next to a change of that other field,
 * its value would undo the change.
 */
function isOfOwn (mapping: Mapping, name: string): boolean {
  if ((identityFields as readonly string[]).includes(name) || mapping.fields[name]!.options.readOnly === true) {
    return false
  }
  return listCounterparts(mapping, name).length === 0
}

/** The full field of a shortcut, or the shortcuts of a full field. */
function listCounterparts ({ fields }: Mapping, name: string): readonly string[] {
  const full = Object.hasOwn(fields, name) ? fields[name]!.options.shortcutOf : undefined
  return full === undefined ? Object.keys(fields).filter(other => fields[other]!.options.shortcutOf === name) : [full]
}
