import { Failure } from '../../envelope/failures.js'
import { invalidParameter, type QueryPair } from '../../envelope/query.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { isElementArray, isElement } from '../../mappings/core/path.js'
import type { Validate } from '../../tenant-guard/interaction.js'
import { requireResource, type FhirRequest } from './fhir-request.js'

/**
 * Whether a resource would be accepted, alone or in Parameters:
 * http://hl7.org/fhir/R4/resource-operation-validate.html. A profile of the client's choice could be one that another
 * tenant reads.
 * @throws {Failure} BAD_REQUEST
 */
export function parseValidateRequest (request: FhirRequest, { type }: { readonly type: string }): Validate {
  const { resource, parameters } = isParameters(request.body)
    ? splitParameters(request.body)
    : { resource: request.body, parameters: [] }
  for (const parameter of [...request.query, ...parameters]) requireKnown(parameter)
  return { kind: 'validate', type, resource: requireResource({ body: resource }, type) }
}

function isParameters (body: unknown): body is FhirElement {
  return isElement(body) && body.resourceType === 'Parameters'
}

function splitParameters ({ parameter = [] }: FhirElement): {
  readonly resource: unknown
  readonly parameters: readonly QueryPair[]
} {
  const parts = isElementArray(parameter) ? parameter : refuse()
  const resources = parts.filter(({ name }) => name === 'resource')
  if (resources.length !== 1) refuse()
  const others = parts.filter(({ name }) => name !== 'resource')
  return {
    resource: resources[0]!.resource,
    parameters: others.map(({ name, valueCode }) => [toText(name), toText(valueCode)])
  }
}

const toText = (value: unknown): string => typeof value === 'string' ? value : ''

/** Both are checked alike: as content that would be written. */
const modes = new Set(['create', 'update'])

function requireKnown ([name, value]: QueryPair): void {
  if (name !== 'mode') {
    throw invalidParameter('parameter', 'this operation takes resource and mode; it validates against base R4')
  }
  if (!modes.has(value)) throw invalidParameter('mode', 'expected create or update')
}

function refuse (): never {
  throw new Failure('BAD_REQUEST', {
    message: 'Send the resource itself, or a Parameters resource with one parameter named resource.'
  })
}
