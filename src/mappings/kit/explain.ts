/** What a JSON Schema validator finds, in words that a client can act on and that hold no value that was sent. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import { suggestion } from '../../envelope/nearest.js'
import { printable } from '../../envelope/query.js'
import type { Schema } from './schema.js'

/** What is wrong, where below the field, and which R4 issue type that is. */
interface Explanation { readonly path: string, readonly says: string, readonly code: string }

/** One error in the words of the schema: of a failed choice that of the branch that got furthest, else what the choice expects. */
export function explain (errors: readonly ErrorObject[]): Explanation {
  const top = errors.at(-1)
  const [furthest] = errors.toSorted((a, b) => reach(b) - reach(a))
  const chosen = top?.keyword === 'anyOf' && furthest !== undefined && reach(furthest) <= reach(top) ? top : furthest
  if (chosen === undefined) return { path: '', says: 'is not valid', code: 'invalid' }
  return { path: expressionOf(chosen), says: reasonOf(chosen), code: issueTypes[chosen.keyword] ?? 'invalid' }
}

const issueTypes: Readonly<Record<string, string>> = { required: 'required', enum: 'code-invalid', 'x-ordered': 'invariant' }

/** A name that is no field, with the nearest that is. */
export function unknownName (name: string, known: readonly string[]): string {
  return `no such field${suggestion(name, known, '; see the documentation')}`
}

/** How far the validator got before an error: deeper, or at least to a value of the right type. */
function reach (error: ErrorObject): number {
  const depth = error.instancePath.split('/').length + Number(isAboutNames(error))
  return depth + (['type', 'anyOf'].includes(error.keyword) ? 0 : 0.5)
}

/** Errors on an object that are really about a member it has or lacks. */
const isAboutNames = ({ keyword }: { readonly keyword: string }): boolean => ['additionalProperties', 'required', 'dependentRequired'].includes(keyword)

function expressionOf ({ instancePath, keyword, params }: ErrorObject): string {
  const steps = instancePath.split('/').slice(1).map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const named = isAboutNames({ keyword }) ? [(params.missingProperty ?? params.additionalProperty) as string] : []
  return [...steps, ...named].map(step => /^\d+$/.test(step) ? `[${step}]` : `.${printable(step)}`).join('')
}

function reasonOf ({ keyword, params, parentSchema }: ErrorObject): string {
  const schema = parentSchema as Schema | undefined
  if (keyword === 'required') return 'is required here'
  if (keyword === 'dependentRequired') return `is required together with ${params.property as string}`
  if (keyword === 'additionalProperties') return unknownName(params.additionalProperty as string, Object.keys(schema?.properties ?? {}))
  if (keyword === 'maxLength') return `at most ${params.limit as number} characters`
  if (keyword === 'maxItems') return `at most ${params.limit as number} items`
  if (keyword === 'minItems') return 'at least one item; leave the field out if there is none, or send null in a PATCH to remove it'
  if (keyword === 'minimum') return `at least ${params.limit as number}`
  if (keyword === 'maximum') return `at most ${params.limit as number}`
  return `expected ${schema?.['x-expects'] ?? 'a different form; see the documentation'}`
}
