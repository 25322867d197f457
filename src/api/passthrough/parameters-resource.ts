import { Failure } from '../../envelope/failures.js'
import { toSafeName, invalidParameter } from '../../envelope/query.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'

/** One parameter of an operation: a text for a simple type, else an element such as a Coding. */
interface OperationParameter { readonly name: string, readonly value: string | FhirElement }

/**
 * The parameters of an operation in a body: http://hl7.org/fhir/R4/parameters.html
 * @throws {Failure} BAD_REQUEST for a body that is no Parameters resource
 */
export function parseParameters (body: unknown): readonly OperationParameter[] {
  const { resourceType, parameter = [] } = isElement(body) ? body : {}
  if (resourceType !== 'Parameters' || !Array.isArray(parameter)) {
    throw new Failure('BAD_REQUEST', { message: 'Send a Parameters resource as the operation defines it.' })
  }
  return parameter.map(parseParameter)
}

/** A part with one value and nothing else that could mean something: no extension, resource or part of its own. */
function parseParameter (part: unknown): OperationParameter {
  const { name, ...content } = isElement(part) ? part : {}
  const [[member, value] = [], ...more] = Object.entries(content)
  if (typeof name !== 'string' || more.length > 0 || !/^value[A-Z]/.test(member ?? '')) {
    throw invalidParameter('parameter', 'expected parts with a name and one value[x] each')
  }
  if (!isElement(value) && !['string', 'boolean', 'number'].includes(typeof value)) {
    throw invalidParameter(toSafeName(name), 'expected one value')
  }
  return { name, value: isElement(value) ? value : String(value) }
}
