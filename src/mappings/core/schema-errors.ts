/** Converts the errors of a JSON Schema validator to messages that help a client and contain no sent value. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import { formatSuggestion } from '../../envelope/nearest.js'
import { toSafeName } from '../../envelope/query.js'
import type { Schema } from './schema.js'

/** The message of an error, its path below the field, and its R4 issue type. */
interface Explanation { readonly path: string, readonly message: string, readonly code: string }

/**
 * Every error in the words of the schema, one for each place: of a failed choice those of the branch that got furthest,
 * else what the choice expects.
 */
export function toIssues (errors: readonly ErrorObject[]): Explanation[] {
  const found = new Map<string, Explanation>()
  const relevant = selectRelevantErrors(errors)
  for (const error of relevant) {
    // It failed for what is named below it.
    if (!isOwnError(error) && relevant.some(other => other !== error && isBelow(other, error))) continue
    const path = toExpression(error)
    if (!found.has(path)) {
      found.set(path, { path, message: formatReason(error), code: issueTypes[error.keyword] ?? 'invalid' })
    }
  }
  return found.size > 0 ? [...found.values()] : [{ path: '', message: 'is not valid', code: 'invalid' }]
}

/**
 * The errors that help a client to correct the request; the validator reports those of each branch of a choice before
 * the choice itself.
 */
function selectRelevantErrors (errors: readonly ErrorObject[]): ErrorObject[] {
  const relevant: ErrorObject[][] = []
  for (let end = errors.length; end > 0;) {
    const top = errors[end - 1]!
    let from = end - 1
    while (top.keyword === 'anyOf' && from > 0 && isWithin(errors[from - 1]!, top)) from--
    relevant.unshift(top.keyword === 'anyOf' ? selectChoiceErrors(top, errors.slice(from, end - 1)) : [top])
    end = from
  }
  return relevant.flat()
}

/** Whether an error states something about a list or object that no error about its content states. */
const isOwnError = (error: ErrorObject): boolean =>
  isAboutNames(error) || ['maxItems', 'minItems', 'x-ordered'].includes(error.keyword)

function isBelow (error: ErrorObject, choice: ErrorObject): boolean {
  return (
    error.instancePath.startsWith(`${choice.instancePath}/`) ||
    (error.instancePath === choice.instancePath && isAboutNames(error))
  )
}

function isWithin ({ instancePath, schemaPath }: ErrorObject, choice: ErrorObject): boolean {
  const isInside = instancePath === choice.instancePath || instancePath.startsWith(`${choice.instancePath}/`)
  return isInside && (schemaPath.startsWith(`${choice.schemaPath}/`) || schemaPath.startsWith('#/$defs/'))
}

function selectChoiceErrors (choice: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[] {
  const [furthest] = errors.toSorted((a, b) => measureDepth(b) - measureDepth(a))
  if (
    furthest === undefined ||
    measureDepth(furthest) <= measureDepth(choice) ||
    isOfOneForm(furthest, choice, errors)
  ) {
    return [choice]
  }
  const getBranch = ({ schemaPath }: ErrorObject): string =>
    schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]!
  return selectRelevantErrors(errors.filter(error => getBranch(error) === getBranch(furthest)))
}

/**
 * Whether a value that is of no form of a choice is taken for one of them by its type alone: `yes` where true, false
 * and a time are expected.
 */
function isOfOneForm (
  { instancePath, keyword }: ErrorObject,
  { instancePath: path, parentSchema }: ErrorObject,
  errors: readonly ErrorObject[]
): boolean {
  const isHere = instancePath === path && ['enum', 'format', 'pattern'].includes(keyword)
  const hasOtherForm = errors.some(
    error => error.instancePath === path && error.keyword === 'type' && error.params.type !== 'object'
  )
  return isHere && hasOtherForm && (parentSchema as Schema | undefined)?.['x-expects'] !== undefined
}

const issueTypes: Readonly<Record<string, string>> = {
  required: 'required',
  enum: 'code-invalid',
  'x-ordered': 'invariant'
}

/** A name that is no field, with the nearest that is. */
export function formatUnknownName (name: string, known: readonly string[]): string {
  return `no such field${formatSuggestion(name, known, '; see the documentation')}`
}

/** How far the validator got before an error: deeper, or at least to a value of the right type. */
function measureDepth (error: ErrorObject): number {
  const depth = error.instancePath.split('/').length + Number(isAboutNames(error))
  return depth + (['type', 'anyOf'].includes(error.keyword) ? 0 : 0.5)
}

/** Errors on an object that are really about a member it has or lacks. */
const isAboutNames = ({ keyword }: { readonly keyword: string }): boolean =>
  ['additionalProperties', 'required', 'dependentRequired'].includes(keyword)

function toExpression ({ instancePath, keyword, params }: ErrorObject): string {
  const steps = instancePath.split('/').slice(1).map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const named = isAboutNames({ keyword }) ? [(params.missingProperty ?? params.additionalProperty) as string] : []
  return [...steps, ...named].map(step => /^\d+$/.test(step) ? `[${step}]` : `.${toSafeName(step)}`).join('')
}

function formatReason ({ keyword, params, parentSchema }: ErrorObject): string {
  const schema = parentSchema as Schema | undefined
  if (keyword === 'required') return 'is required here'
  if (keyword === 'dependentRequired') return `is required together with ${params.property as string}`
  if (keyword === 'additionalProperties') {
    return formatUnknownName(params.additionalProperty as string, Object.keys(schema?.properties ?? {}))
  }
  if (keyword === 'maxLength') return `at most ${params.limit as number} characters`
  if (keyword === 'maxItems') return `at most ${params.limit as number} items`
  if (keyword === 'minItems') {
    return 'at least one item; leave the field out if there is none, or send null in a PATCH to remove it'
  }
  if (keyword === 'minimum') return `at least ${params.limit as number}`
  if (keyword === 'maximum') return `at most ${params.limit as number}`
  return `expected ${schema?.['x-expects'] ?? 'a different form; see the documentation'}`
}
