import { evalFhirPathTyped, parseFhirPath, toTypedValue } from '@medplum/core'
import type { FhirResource } from '../mappings/fhir.js'
import { FhirError } from './outcome.js'
import table from '../mappings/r4/search-parameters.json' with { type: 'json' }

/** How a search parameter compares: http://hl7.org/fhir/R4/search.html#ptypes */
export type ParameterKind = 'date' | 'number' | 'quantity' | 'reference' | 'string' | 'token' | 'uri'

/** A search parameter of one type. `values` are the elements of a resource that it searches. */
export interface Parameter {
  readonly name: string
  readonly kind: ParameterKind
  values (resource: FhirResource): readonly unknown[]
}

const definitions = table as unknown as Record<string, Record<string, readonly [ParameterKind | 'composite', string]>>
const compiled = new Map<string, ReadonlyMap<string, Parameter>>()

/** The names of the R4 resource types. */
export const resourceTypes: ReadonlySet<string> = new Set(Object.keys(definitions).filter(type => type !== 'Resource'))

/** The search parameters of an R4 type by name, those of all types included; made when a type is first met. */
export function getSearchParameters (type: string): ReadonlyMap<string, Parameter> {
  const known = compiled.get(type)
  if (known) return known
  const all = Object.entries({ ...definitions['Resource'], ...definitions[type] }).filter(
    ([, [kind]]) => kind !== 'composite'
  )
  const parameters = new Map(
    all.map(([name, [kind, expression]]) => [
      name,
      { name, kind: kind as ParameterKind, values: createEvaluator(expression) }
    ])
  )
  compiled.set(type, parameters)
  return parameters
}

function createEvaluator (expression: string): Parameter['values'] {
  const branches = expression.split(' | ').map(createBranchEvaluator)
  return resource => branches.flatMap(values => values(resource))
}

/** Most parameters search an element that a resource doesn't have; those are neither parsed nor evaluated. */
function createBranchEvaluator (expression: string): Parameter['values'] {
  const element = expression.includes('exists') ? undefined : /^\(?(?:[A-Z]\w+\.)?(\w+)/.exec(expression)?.[1]
  let path: ReturnType<typeof parseFhirPath> | undefined
  return resource => {
    if (element !== undefined && !hasElement(resource, element)) return []
    path ??= parseFhirPath(expression)
    try {
      return evalFhirPathTyped(path, [toTypedValue(resource)]).map(item => item.value)
    } catch {
      throw new FhirError(400, 'structure', 'the resource is not valid R4')
    }
  }
}

// `value` is valueQuantity, valueString, …
function hasElement (resource: FhirResource, element: string): boolean {
  return element in resource || Object.keys(resource).some(key => key.startsWith(element))
}
