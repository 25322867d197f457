import type { Mapping } from '../../src/mappings/kit/mapping.js'
import { checkCreate, checkRules } from '../../src/mappings/kit/validate.js'
import { occasion } from '../harness/occasion.js'

/** The fields that a create would be refused for. */
export function refusedFields (mapping: Mapping, simple: Readonly<Record<string, unknown>>): string[] {
  const whole = mapping.withDefaults(simple, occasion)
  const issues = [...checkCreate(mapping, whole), ...checkRules(mapping, mapping.toFhir(whole), Object.keys(whole))]
  return [...new Set(issues.flatMap(issue => issue.expression ?? []))].sort()
}
