import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { createAjv } from '../../envelope/checked-input.js'
import { maxIssues, fieldIssue, type Issue } from '../../envelope/failures.js'
import { toSafeName } from '../../envelope/query.js'
import { toPlainNumbers } from '../../json/json.js'
import type { FhirElement } from '../fhir.js'
import { deepEqual, type Element } from './element.js'
import { toIssues, formatUnknownName } from './schema-errors.js'
import { formats } from './formats.js'
import { isOrdered } from './date-order.js'
import { identityFields, type Mapping } from './mapping.js'
import { mapWithShown } from './match.js'
import { isElement } from './path.js'
import type { Rule } from './rule.js'
import { checkContradictions } from './shortcuts.js'
import { canonicalJson } from './canonical-json.js'

type SimpleForm = Readonly<Record<string, unknown>>

/** Everything wrong with a body that should create a resource; `simple` has its defaults filled in. */
export function checkCreate (mapping: Mapping, simple: SimpleForm): Issue[] {
  return withContradictions(mapping, simple, [
    ...checkRequired(mapping, simple),
    ...checkFields(mapping, simple),
    ...checkChoices(mapping, simple)
  ])
}

/**
 * Everything wrong with the fields of a change; null removes a field.
 * @param shown the current simple form: a value or list item that another system stored so may be sent back, though no
 * client may send it first
 */
export function checkChange (mapping: Mapping, changes: SimpleForm, shown: SimpleForm = {}): Issue[] {
  // A name that is no field is wrong also where it should be removed.
  const set = Object.fromEntries(
    Object.entries(changes).filter(([name, value]) => value !== null || findField(mapping, name) === undefined)
  )
  const removed = Object.keys(changes).filter(name => !Object.hasOwn(set, name))
  return withContradictions(mapping, changes, [
    ...removed.flatMap(name => checkRemoval(mapping, name, set)),
    ...checkFields(mapping, set, shown),
    ...checkChoices(mapping, set, shown)
  ])
}

/** The issues, or where there are none, those of fields that contradict each other. */
const withContradictions = (mapping: Mapping, sent: SimpleForm, issues: Issue[]): Issue[] =>
  issues.length > 0
    ? issues
    : checkContradictions(mapping.fields, sent, changes => mapping.patch<FhirElement>({}, changes))

/** The fields that a change wrote, and the resource before it; both absent for a new one. */
interface CheckedChange {
  readonly written?: readonly string[]
  readonly before?: FhirElement
}

/**
 * The R4 rules that a new resource breaks. For a changed one, only those that concern the fields just written, or that
 * it followed before: a rule that was broken earlier, elsewhere, does not prevent a change.
 */
export function checkRules (
  mapping: Mapping,
  resource: FhirElement,
  { written, before }: CheckedChange = {}
): Issue[] {
  const isRelevant = (rule: Rule): boolean =>
    written === undefined ||
    rule.fields.some(field => written.includes(field)) ||
    (before !== undefined && rule.holds(before))
  return mapping.rules
    .filter(rule => rule.severity === undefined && !rule.holds(resource) && isRelevant(rule))
    .flatMap(toRuleIssues)
}

/** Warnings for the client that writes a valid resource. */
export function listRuleWarnings (mapping: Mapping, resource: FhirElement): Issue[] {
  return [...mapping.rules, retainedNarrative]
    .filter(rule => rule.severity === 'warning' && !rule.holds(resource))
    .flatMap(toRuleIssues)
}

/**
 * The narrative is content that no field shows, so no change may remove it; only its author knows whether it is still
 * true.
 */
const retainedNarrative: Rule = {
  severity: 'warning',
  fields: ['text'],
  message:
    'the narrative of the record is not shown here and was not changed; if it no longer says what the record does, replace it in raw FHIR',
  holds: ({ text }) => !isElement(text) || text.status === 'empty'
}

const toRuleIssues = ({ fields, message, key, severity }: Rule): Issue[] =>
  fields.map(field => ({
    ...fieldIssue(field, key === undefined ? message : `${message} (${key})`, 'invariant'),
    ...(severity && { severity })
  }))

function checkRequired (mapping: Mapping, simple: SimpleForm): Issue[] {
  return Object.entries(mapping.fields)
    .filter(
      ([name, { options }]) =>
        options.required === true && simple[name] === undefined && listAlternatives(mapping, name, simple).length === 0
    )
    .map(([name]) => fieldIssue(name, 'is required', 'required'))
}

function checkChoices (mapping: Mapping, set: SimpleForm, shown: SimpleForm = {}): Issue[] {
  return Object.keys(set)
    .map(name => ({ name, alike: listAlternatives(mapping, name, set) }))
    .filter(({ alike }) => alike.length > 1 && alike.some(name => !deepEqual(set[name], shown[name])))
    .map(({ name, alike }) => fieldIssue(name, `send at most one of ${alike.join(', ')}`))
}

/** The names among those sent that share a choice element with a field, itself included. */
function listAlternatives (mapping: Mapping, name: string, sent: SimpleForm): string[] {
  const group = findField(mapping, name)?.options.choice
  return group === undefined
    ? []
    : Object.keys(sent).filter(other => findField(mapping, other)?.options.choice === group)
}

/** A field by a name that may be anything at all, such as `constructor`. */
const findField = ({ fields }: Mapping, name: string): Element | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

function checkRemoval (mapping: Mapping, name: string, set: SimpleForm): Issue[] {
  const { options } = mapping.fields[name]!
  if (options.readOnly === true) return [readOnlyField(name)]
  const isNeeded = options.required === true && listAlternatives(mapping, name, set).length === 0
  return isNeeded ? [fieldIssue(name, 'is required and cannot be removed', 'required')] : []
}

function checkFields (mapping: Mapping, simple: SimpleForm, shown: SimpleForm = {}): Issue[] {
  const names = Object.keys(simple)
  const unknown = names.filter(name => findField(mapping, name) === undefined).slice(0, maxIssues)
  return [
    ...unknown.map(name => unknownField(name, Object.keys(mapping.fields))),
    ...names.flatMap(name => {
      const element = findField(mapping, name)
      if (element === undefined) return []
      if (element.options.readOnly === true) return [readOnlyField(name)]
      // A change has taken out by now what it removes.
      if (simple[name] === null && element.options.required !== true) {
        return [fieldIssue(name, 'leave it out; null only removes a field of an existing record')]
      }
      return checkValue(element, { name, value: simple[name], shown: shown[name] })
    })
  ]
}

function unknownField (name: string, known: readonly string[]): Issue {
  if ((identityFields as readonly string[]).includes(name)) return readOnlyField(name)
  return fieldIssue(toSafeName(name), formatUnknownName(name, known), 'structure')
}

const readOnlyField = (name: string): Issue => fieldIssue(name, 'is read-only; leave it out', 'business-rule')

interface FieldChange { readonly name: string, readonly value: unknown, readonly shown: unknown }

function checkValue (element: Element, { name, value, shown }: FieldChange): Issue[] {
  const validate = getValidator(element)
  if (validate(toPlainNumbers(value)) || deepEqual(value, shown)) return []
  const trimmed = toPlainNumbers(mapWithShown(value, shown, withoutShownSpace))
  if (validate(trimmed)) return []
  if (!Array.isArray(value) || !Array.isArray(shown) || value.length === 0) {
    return explainErrors(element, trimmed).map(({ path, message, code }) => fieldIssue(name + path, message, code))
  }
  const positions = findNewPositions(value, shown)
  const added = positions.map(index => (trimmed as readonly unknown[])[index])
  if (positions.length === 0 || validate(added)) return []
  const toItemPath = (path: string): string => path.replace(/^\[(\d+)\]/, (_, index) => `[${positions[Number(index)]}]`)
  return explainErrors(element, added).map(({ path, message, code }) =>
    fieldIssue(name + toItemPath(path), message, code)
  )
}

/**
 * The errors of an invalid value: all of them, unless the value is so large that to collect them all would take too
 * much.
 */
function explainErrors (element: Element, value: unknown): ReturnType<typeof toIssues> {
  const validate = hasAtMost(maxExplained, value) ? getThoroughValidator(element) : getValidator(element)
  validate(value)
  return toIssues(validate.errors ?? []).slice(0, maxIssues)
}

/** Values in a field whose errors are all looked for. */
const maxExplained = 2_000

function hasAtMost (limit: number, value: unknown): boolean {
  let left = limit
  const count = (part: unknown): boolean => {
    if (--left < 0) return false
    return part === null || typeof part !== 'object' || Object.values(part).every(count)
  }
  return count(value)
}

/** R4 allows spaces and line breaks around a text, so a client may send a stored text back with them. */
const withoutShownSpace = (sent: unknown, shown: unknown): unknown =>
  typeof sent === 'string' && sent === shown ? sent.trim() : sent

/** The positions of the items that are not already shown; an item that is shown twice may be sent twice. */
function findNewPositions (items: readonly unknown[], shown: readonly unknown[]): number[] {
  const left = new Map<string, number>()
  for (const text of shown.map(canonicalJson)) left.set(text, (left.get(text) ?? 0) + 1)
  return items.flatMap((item, index) => {
    const known = left.get(canonicalJson(item)) ?? 0
    left.set(canonicalJson(item), known - 1)
    return known > 0 ? [] : [index]
  })
}

const createFieldAjv = (allErrors: boolean) =>
  createAjv({ allErrors, strictSchema: false, strictTypes: false, formats }, Ajv2020).addKeyword({
    keyword: 'x-ordered',
    type: 'object',
    validate: (_: true, value: FhirElement) => isOrdered(value.start, value.end)
  })
const ajv = createFieldAjv(false)
/** Stops at no error. */
const thoroughAjv = createFieldAjv(true)

// One validator per field, made when the field is first sent: compiling a thousand schemas at startup takes seconds.
const validators = new WeakMap<Element, ValidateFunction>()
const thoroughValidators = new WeakMap<Element, ValidateFunction>()

const getValidator = (element: Element): ValidateFunction => getOrCompile(element, validators, ajv)
const getThoroughValidator = (element: Element): ValidateFunction =>
  getOrCompile(element, thoroughValidators, thoroughAjv)

function getOrCompile (
  element: Element, cache: WeakMap<Element, ValidateFunction>, compiler: typeof ajv
): ValidateFunction {
  const validator = cache.get(element) ?? compiler.compile(element.schema)
  cache.set(element, validator)
  return validator
}
