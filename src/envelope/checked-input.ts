import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { Failure, fieldIssue, type Issue } from './failures.js'
import { formatSuggestion } from './nearest.js'
import { parseQuery, toSafeName } from './query.js'
import { isDateTime } from '../time/iso-time.js'

/**
 * Creates an instance of Ajv, which all checks of the product are compiled by. Its errors have the schema that was
 * broken, for messages; the format `date-time` is one that the engine can parse, since what expires at another time
 * would never expire. The code of checks is not optimized: that takes longer than to generate it, and the checks are no
 * faster for it.
 * @param Draft Ajv of another draft of JSON Schema than 7, which takes the least time to start
 */
export function createAjv (options: Options, Draft: typeof Ajv | typeof Ajv2020 = Ajv): Ajv | Ajv2020 {
  return new Draft({
    allowUnionTypes: true,
    verbose: true,
    code: { optimize: false },
    ...options,
    formats: { 'date-time': isDateTime, ...options.formats }
  })
}

// Each check is compiled on first use: compiling all at the start would take a tenth of a second longer.
const bodies = createAjv({ allErrors: true })
const queries = createAjv({ allErrors: true, coerceTypes: true, useDefaults: true })

/** A check of a request's body. @throws {Failure} VALIDATION_ERROR with every field that is wrong */
export function createBodyCheck (schema: TSchema | undefined): (body: unknown) => unknown {
  let validate: ValidateFunction | undefined
  return body => {
    if (schema === undefined) {
      if (body === undefined || isEmptyObject(body)) return undefined
      throw new Failure('VALIDATION_ERROR', { message: 'Send this request without a body.' })
    }
    validate ??= bodies.compile(schema)
    if (validate(body)) return body
    throw new Failure('VALIDATION_ERROR', { issues: toIssues(validate, 'body') })
  }
}

/**
 * A check of a request's query, which parses numbers. @throws {Failure} BAD_REQUEST with every parameter that is wrong
 */
export function createQueryCheck (
  schema: TSchema = { type: 'object', additionalProperties: false }
): (search: string) => unknown {
  let validate: ValidateFunction | undefined
  return search => {
    validate ??= queries.compile(schema)
    const pairs = parseQuery(search)
    const query = Object.fromEntries(pairs)
    const isRepeated = pairs.length !== Object.keys(query).length
    if (!isRepeated && validate(query)) return query
    throw new Failure('BAD_REQUEST', {
      message: isRepeated ? 'Send each parameter once.' : 'Correct the parameters listed in issues.',
      issues: isRepeated ? [] : toIssues(validate, 'query')
    })
  }
}

function toIssues (validate: ValidateFunction, full: string): Issue[] {
  return validate.errors!.map(error => {
    const path = error.instancePath.slice(1).replaceAll('/', '.')
    if (error.keyword === 'required') {
      return fieldIssue(join(path, error.params.missingProperty), 'is missing', 'required')
    }
    if (error.keyword === 'additionalProperties') return unknownField(error, path)
    return fieldIssue(path || full, formatAjvError(error))
  })
}

function unknownField ({ params, parentSchema }: ErrorObject, path: string): Issue {
  return fieldIssue(
    join(path, toSafeName(params.additionalProperty)),
    `no such field${formatSuggestion(params.additionalProperty, Object.keys(parentSchema?.properties ?? {}))}`
  )
}

function formatAjvError ({ keyword, params, message, parentSchema }: ErrorObject): string {
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  if (keyword === 'pattern' || keyword === 'format') return parentSchema?.description ?? 'is not valid'
  return message ?? 'is not valid'
}

const join = (path: string, name: string): string => path === '' ? name : `${path}.${name}`

function isEmptyObject (body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0
}
