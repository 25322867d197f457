import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { distance } from 'fastest-levenshtein'
import { fieldIssue, type Issue } from '../../envelope/failures.js'
import { plainNumbers } from '../../json.js'
import type { FhirElement } from '../fhir.js'
import { same, type Element } from './element.js'
import { formats } from './formats.js'
import { isOrdered } from './ordered.js'
import { identityFields, type Mapping } from './mapping.js'
import type { Rule } from './rule.js'
import type { Schema } from './schema.js'

type SimpleForm = Readonly<Record<string, unknown>>

/** Everything wrong with a body that should create a resource; `simple` has its defaults filled in. */
export function checkCreate (mapping: Mapping, simple: SimpleForm): Issue[] {
  return [...missing(mapping, simple), ...checkFields(mapping, simple), ...twoOfOneChoice(mapping, simple)]
}

/**
 * Everything wrong with the fields of a change; null removes a field.
 * @param shown the simple form as it is: a value or list item that another system stored so may be sent back, though
 * no client may send it first
 */
export function checkChange (mapping: Mapping, changes: SimpleForm, shown: SimpleForm = {}): Issue[] {
  const set = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null))
  const removed = Object.keys(changes).filter(name => changes[name] === null)
  const required = removed.filter(name => mapping.fields[name]?.options.required === true && !isInChoice(mapping, name, set))
  return [
    ...required.map(name => fieldIssue(name, 'is required and cannot be removed', 'required')),
    ...checkFields(mapping, Object.fromEntries(removed.filter(name => mapping.fields[name] === undefined || mapping.fields[name].options.readOnly).map(name => [name, null]))),
    ...checkFields(mapping, set, shown),
    ...twoOfOneChoice(mapping, set)
  ]
}

/**
 * The R4 rules that a resource breaks, of those that concern the fields just written or that it kept before: a rule
 * that was broken elsewhere and long ago does not stand in the way of a change.
 */
export function checkRules (mapping: Mapping, resource: FhirElement, written: readonly string[], before?: FhirElement): Issue[] {
  const concerns = (rule: Rule): boolean => rule.fields.some(field => written.includes(field)) || (before !== undefined && rule.holds(before))
  return mapping.rules
    .filter(rule => !rule.holds(resource) && concerns(rule))
    .flatMap(rule => rule.fields.map(field => fieldIssue(field, `${rule.says} (${rule.key})`, 'invariant')))
}

/** The name among `names` that a misspelt one was probably meant to be. */
export function nearest (name: string, names: readonly string[]): string | undefined {
  const short = name.slice(0, 64).toLowerCase()
  const ranked = names.map(candidate => ({ candidate, steps: distance(short, candidate.toLowerCase()) })).sort((a, b) => a.steps - b.steps)
  return ranked[0]?.candidate
}

/** A name as the client sent it when it is fit to be shown, since anything at all can stand where a name is expected. */
export const printable = (name: string): string => /^[A-Za-z_][A-Za-z0-9_:.-]{0,63}$/.test(name) ? name : '(unknown)'

function missing ({ fields }: Mapping, simple: SimpleForm): Issue[] {
  return Object.entries(fields)
    .filter(([name, { options }]) => options.required === true && simple[name] === undefined &&
      !(options.choice !== undefined && Object.keys(simple).some(other => fields[other]?.options.choice === options.choice)))
    .map(([name]) => fieldIssue(name, 'is required', 'required'))
}

function isInChoice ({ fields }: Mapping, name: string, set: SimpleForm): boolean {
  const group = fields[name]?.options.choice
  return group !== undefined && Object.keys(set).some(other => fields[other]?.options.choice === group)
}

function twoOfOneChoice ({ fields }: Mapping, set: SimpleForm): Issue[] {
  const rivals = (name: string): string[] => {
    const group = fields[name]?.options.choice
    return group === undefined ? [] : Object.keys(set).filter(other => fields[other]?.options.choice === group)
  }
  return Object.keys(set).filter(name => rivals(name).length > 1)
    .map(name => fieldIssue(name, `send at most one of ${rivals(name).join(', ')}`))
}

function checkFields ({ fields }: Mapping, simple: SimpleForm, shown: SimpleForm = {}): Issue[] {
  return Object.entries(simple).flatMap(([name, value]) => {
    const element = fields[name]
    if (!Object.hasOwn(fields, name) || element === undefined) return [unknownField(name, Object.keys(fields))]
    return element.options.readOnly === true ? [readOnlyField(name)] : checkValue(element, { name, value, shown: shown[name] })
  })
}

function unknownField (name: string, known: readonly string[]): Issue {
  if ((identityFields as readonly string[]).includes(name)) return readOnlyField(name)
  return fieldIssue(printable(name), `no such field; the nearest is ${nearest(name, known)}`, 'structure')
}

const readOnlyField = (name: string): Issue => fieldIssue(name, 'is read-only; leave it out', 'business-rule')

interface FieldChange { readonly name: string, readonly value: unknown, readonly shown: unknown }

function checkValue (element: Element, { name, value, shown }: FieldChange): Issue[] {
  const validate = validatorOf(element)
  if (validate(plainNumbers(value)) || same(value, shown)) return []
  const issue = (pathOf = (path: string): string => path): Issue[] => {
    const { path, says, code } = explain(validate.errors ?? [])
    return [fieldIssue(name + pathOf(path), says, code)]
  }
  if (!Array.isArray(value) || !Array.isArray(shown) || value.length === 0) return issue()
  const places = placesOfNew(value, shown)
  if (places.length === 0 || validate(places.map(place => plainNumbers(value[place])))) return []
  return issue(path => path.replace(/^\[(\d+)\]/, (_, place) => `[${places[Number(place)]}]`))
}

/** The places of the items that are not already shown, each as often as it is. */
function placesOfNew (items: readonly unknown[], shown: readonly unknown[]): number[] {
  const left = [...shown]
  return items.flatMap((item, place) => {
    const known = left.findIndex(other => same(other, item))
    if (known >= 0) left.splice(known, 1)
    return known >= 0 ? [] : [place]
  })
}

const ajv = new Ajv2020({
  strictSchema: false, strictTypes: false, verbose: true, removeAdditional: false, coerceTypes: false, useDefaults: false, validateFormats: true, formats
})
ajv.addKeyword({ keyword: 'x-ordered', type: 'object', validate: (_: true, value: FhirElement) => isOrdered(value.start, value.end) })

// One validator a field, made when the field is first sent: a start that compiles a thousand schemas takes seconds.
const validators = new WeakMap<Element, ValidateFunction>()

function validatorOf (element: Element): ValidateFunction {
  const made = validators.get(element) ?? ajv.compile(element.schema)
  validators.set(element, made)
  return made
}

interface Explanation { readonly path: string, readonly says: string, readonly code: string }

/** One error in the words of the schema: of a failed choice the branch that got furthest, else what the choice expects. */
function explain (errors: readonly ErrorObject[]): Explanation {
  const depth = (error: ErrorObject): number => error.instancePath.split('/').length + Number(isAboutNames(error))
  const deepest = errors.toSorted((a, b) => depth(b) - depth(a))
  const top = errors.at(-1)
  const chosen = top?.keyword === 'anyOf' && deepest[0] !== undefined && depth(deepest[0]) <= depth(top) ? top : deepest[0]
  if (chosen === undefined) return { path: '', says: 'is not valid', code: 'invalid' }
  return { path: expressionOf(chosen), says: reasonOf(chosen), code: chosen.keyword === 'required' ? 'required' : chosen.keyword === 'enum' ? 'code-invalid' : 'invalid' }
}

const isAboutNames = ({ keyword }: ErrorObject): boolean => ['additionalProperties', 'required', 'dependentRequired'].includes(keyword)

function expressionOf ({ instancePath, keyword, params }: ErrorObject): string {
  const steps = instancePath.split('/').slice(1).map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const inner = keyword === 'required' || keyword === 'dependentRequired' ? [params.missingProperty as string] : keyword === 'additionalProperties' ? [params.additionalProperty as string] : []
  return [...steps, ...inner].map(step => /^\d+$/.test(step) ? `[${step}]` : `.${printable(step)}`).join('')
}

function reasonOf ({ keyword, params, parentSchema }: ErrorObject): string {
  const schema = parentSchema as Schema | undefined
  if (keyword === 'required') return 'is required here'
  if (keyword === 'dependentRequired') return `is required beside ${params.property as string}`
  if (keyword === 'additionalProperties') return `no such field; the nearest is ${nearest(params.additionalProperty as string, Object.keys(schema?.properties ?? {}))}`
  if (keyword === 'maxLength') return `at most ${params.limit as number} characters`
  if (keyword === 'maxItems') return `at most ${params.limit as number} items`
  if (keyword === 'minItems') return 'at least one item; send null to remove the field'
  if (keyword === 'minimum') return `at least ${params.limit as number}`
  if (keyword === 'maximum') return `at most ${params.limit as number}`
  return `expected ${schema?.['x-expects'] ?? 'another form; see the documentation'}`
}
