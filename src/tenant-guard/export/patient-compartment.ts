import type { FhirElement } from '../../mappings/fhir.js'
import { compartmentParameters } from '../../mappings/r4/compartments.js'
import { parameterOf } from '../../mappings/r4/search-parameters.js'

/**
 * The types whose records can be in the compartment of a patient:
 * http://hl7.org/fhir/R4/compartmentdefinition-patient.html
 */
export const isInPatientCompartment = (type: string): boolean => compartmentParameters('Patient', type) !== undefined

/** The search parameters by which a record of a type is in the compartment of a patient, each of them enough. */
export function parametersOfPatient (type: string): readonly string[] {
  return [...type === 'Patient' ? ['_id'] : [], ...compartmentParameters('Patient', type) ?? []]
}

/**
 * Whether a record of a type is in the compartment of a patient.
 * @param patients ids; absent: any patient will do
 */
export function compartmentOf (type: string, patients?: ReadonlySet<string>): (record: FhirElement) => boolean {
  const paths = (compartmentParameters('Patient', type) ?? []).flatMap(name =>
    pathsOf(parameterOf(type, name)?.expression ?? '')
  )
  const isSelected = (id: string): boolean => patients === undefined || patients.has(id)
  const leadsThere = (reference: unknown): boolean =>
    typeof reference === 'string' && reference.startsWith('Patient/') && isSelected(reference.split('/', 2)[1]!)
  return record =>
    (type === 'Patient' && isSelected(String(record.id))) || paths.some(path => holds(record, path, leadsThere))
}

/** `AuditEvent.agent.who.where(resolve() is Patient) | …` as the names of elements below the resource. */
function pathsOf (expression: string): string[][] {
  return expression
    .split('|')
    .map(path =>
      path
        .trim()
        .replace(/\.where\(.*\)$/, '')
        .split('.')
        .slice(1)
    )
    .filter(path => path.length > 0)
}

function holds (value: unknown, path: readonly string[], leadsThere: (reference: unknown) => boolean): boolean {
  if (Array.isArray(value)) return value.some(item => holds(item, path, leadsThere))
  if (value === null || typeof value !== 'object') return false
  const [name, ...rest] = path
  return name === undefined
    ? leadsThere((value as FhirElement).reference)
    : holds((value as FhirElement)[name], rest, leadsThere)
}
