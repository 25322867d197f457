import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { Failure, fieldIssue, type Issue } from './failures.js'
import { suggestion } from './nearest.js'
import { parseQuery, safeName } from './query.js'
import { isDateTime } from '../time/iso-time.js'

// Each check is compiled on first use: compiling all at the start would take a tenth of a second longer.
const options = { allErrors: true, allowUnionTypes: true, verbose: true, formats: { 'date-time': isDateTime } } as const
const bodies = new Ajv(options)
const queries = new Ajv({ ...options, coerceTypes: true, useDefaults: true })

/** A check of a request's body. @throws {Failure} VALIDATION_ERROR with every field that is wrong */
export function bodyCheck (schema: TSchema | undefined): (body: unknown) => unknown {
  let validate: ValidateFunction | undefined
  return body => {
    if (schema === undefined) {
      if (body === undefined || isEmptyObject(body)) return undefined
      throw new Failure('VALIDATION_ERROR', { message: 'Send this request without a body.' })
    }
    validate ??= bodies.compile(schema)
    if (validate(body)) return body
    throw new Failure('VALIDATION_ERROR', { issues: issuesOf(validate, 'body') })
  }
}

/**
 * A check of a request's query, which parses numbers. @throws {Failure} BAD_REQUEST with every parameter that is wrong
 */
export function queryCheck (
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
      issues: isRepeated ? [] : issuesOf(validate, 'query')
    })
  }
}

function issuesOf (validate: ValidateFunction, full: string): Issue[] {
  return validate.errors!.map(error => {
    const path = error.instancePath.slice(1).replaceAll('/', '.')
    if (error.keyword === 'required') {
      return fieldIssue(join(path, error.params.missingProperty), 'is missing', 'required')
    }
    if (error.keyword === 'additionalProperties') return unknownField(error, path)
    return fieldIssue(path || full, require(error))
  })
}

function unknownField ({ params, parentSchema }: ErrorObject, path: string): Issue {
  return fieldIssue(
    join(path, safeName(params.additionalProperty)),
    `no such field${suggestion(params.additionalProperty, Object.keys(parentSchema?.properties ?? {}))}`
  )
}

function require ({ keyword, params, message, parentSchema }: ErrorObject): string {
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  if (keyword === 'pattern' || keyword === 'format') return parentSchema?.description ?? 'is not valid'
  return message ?? 'is not valid'
}

const join = (path: string, name: string): string => path === '' ? name : `${path}.${name}`

function isEmptyObject (body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0
}
