/**
 * Checks a new record before any request to a datastore; the gateway and the command `validate` use the same checks.
 */
import { Failure, fieldIssue, type Issue } from '../envelope/failures.js'
import type { FhirResource } from '../mappings/fhir.js'
import type { CreateContext } from '../mappings/core/element.js'
import type { Mapping } from '../mappings/core/mapping.js'
import { isElement } from '../mappings/core/path.js'
import { checkCreate, checkRules } from '../mappings/core/validate.js'

type Fields = Readonly<Record<string, unknown>>

/**
 * The fields of a body that creates a record, with the defaults filled in. @throws {Failure} BAD_REQUEST,
 * VALIDATION_ERROR
 */
export function validateCreate (mapping: Mapping, body: unknown, createContext: CreateContext): Fields {
  if (!isElement(body)) throw new Failure('BAD_REQUEST', { message: 'Send one JSON object.' })
  const simple = mapping.withDefaults(body, createContext)
  throwIfIssues(checkCreate(mapping, simple))
  return simple
}

/** The R4 resource of a new record's fields. @throws {Failure} VALIDATION_ERROR with every R4 rule that it breaks */
export function buildResource (mapping: Mapping, fields: Fields): FhirResource {
  const resource = mapping.toFhir(fields)
  throwIfIssues(checkRules(mapping, resource))
  return resource
}

/** Warnings about sent values whose meaning the gateway completed: a day in a field for a time. */
export function listCompletionWarnings ({ fields }: Mapping, sent: Fields): Issue[] {
  return Object.entries(sent).flatMap(([name, value]) => {
    const isDay = fields[name]?.schema.format === 'instant-or-day' && typeof value === 'string' && !value.includes('T')
    if (!isDay) return []
    const text = 'a day without a time is stored as its start in UTC; send a time with its zone to say when'
    return [{ ...fieldIssue(name, text, 'informational'), severity: 'warning' as const }]
  })
}

/** @throws {Failure} VALIDATION_ERROR when there is any issue */
export function throwIfIssues (issues: readonly Issue[]): void {
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues })
}
