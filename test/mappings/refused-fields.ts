import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { createContext } from '../harness/create-context.js'

/** The fields that a create would be refused for. */
export function refusedFields (mapping: Mapping, simple: Readonly<Record<string, unknown>>): string[] {
  const whole = mapping.withDefaults(simple, createContext)
  const issues = [
    ...checkCreate(mapping, whole),
    ...checkRules(mapping, mapping.toFhir(whole), { written: Object.keys(whole) })
  ]
  return [...new Set(issues.flatMap(issue => issue.expression ?? []))].sort()
}
