import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { createContext } from '../harness/create-context.js'

/** The fields that a create would be refused for. */
export function listRefusedFields (mapping: Mapping, simple: Readonly<Record<string, unknown>>): string[] {
  const complete = mapping.withDefaults(simple, createContext)
  const issues = [
    ...checkCreate(mapping, complete),
    ...checkRules(mapping, mapping.toFhir(complete), { written: Object.keys(complete) })
  ]
  return [...new Set(issues.flatMap(issue => issue.expression ?? []))].sort()
}
