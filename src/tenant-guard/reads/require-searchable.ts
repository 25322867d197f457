import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { hasSearchParameter, findKnownCapabilities } from '../capabilities.js'
import type { Include, SearchParameter } from '../interaction.js'
import { toFailureCause, type TenantContext } from '../tenant-context.js'

/** A search by a parameter that the datastore does not have. */
export class UnsupportedParameter extends Failure {
  /**
   * @param parameter FHIR's name of it, without a modifier
   * @param sent the name that the client sent
   */
  constructor (readonly parameter: string, sent = parameter) {
    const message = `${sent}: the datastore behind this gateway does not have the search parameter ${parameter} for this resource type. Search without it.`
    super('BAD_REQUEST', {
      message,
      issues: [{ severity: 'error', code: 'not-supported', diagnostics: message, expression: [sent] }]
    })
  }
}

/**
 * Refuses a search parameter, or a key of `_sort`, that the datastore does not state for the type, since a server may
 * ignore it and find all records. Without a statement nothing is refused.
 * @throws {UnsupportedParameter}
 */
export function requireSearchable (
  { backend }: Pick<TenantContext, 'backend'>,
  type: string,
  parameters: readonly SearchParameter[]
): void {
  const stated = findKnownCapabilities(backend)
  if (stated === undefined) return
  for (const [name, value] of parameters) {
    const keys = name === '_sort' ? value.split(',').map(key => key.replace(/^-/, '')) : [name.split(/[:.]/, 1)[0]!]
    const missing = keys.find(key => !hasSearchParameter(stated, type, key))
    if (missing !== undefined) throw new UnsupportedParameter(missing, name === '_sort' ? name : missing)
  }
}

/** The same for the references that a search follows. @throws {UnsupportedParameter} */
export function requireFollowable (context: Pick<TenantContext, 'backend'>, includes: readonly Include[]): void {
  for (const { type, parameter } of includes) requireSearchable(context, type, [[parameter, '']])
}

/**
 * Why a datastore rejected a search, with the parameter if it is clear which one. HAPI responds 405 for a modifier that
 * its configuration turns off, which is `:contains` by default.
 * @param parameters those of the client, as it sent them, or the condition of a chain or `_has`
 */
export function rejectedSearch (response: BackendResponse, parameters: readonly SearchParameter[]): Failure {
  const off = response.status === 405 ? parameters.find(([name]) => name.endsWith(':contains'))?.[0] : undefined
  const name = off ?? findRejectedName(response, parameters)
  const message =
    off !== undefined
      ? `${off}: the datastore's configuration turns :contains off. Search by the beginning of the text, without a modifier, or by :exact.`
      : name === undefined
        ? 'The datastore rejected a parameter of this search or its value.'
        : `${name}: the datastore rejected this parameter, its modifier or its value.`
  const code = off === undefined ? 'invalid' : 'not-supported'
  return new Failure('BAD_REQUEST', {
    message,
    ...name !== undefined && { issues: [{ severity: 'error', code, diagnostics: message, expression: [name] }] },
    cause: toFailureCause(response)
  })
}

/** The only parameter, or the only one whose modifier or value the datastore names. Nothing of its text is repeated. */
function findRejectedName ({ body }: BackendResponse, parameters: readonly SearchParameter[]): string | undefined {
  const isNamed = ([name, value]: SearchParameter): boolean => {
    const modifier = name.indexOf(':')
    // A quoted text within a text of JSON.
    const quoted = JSON.stringify(JSON.stringify(value)).slice(1, -1)
    return (modifier > 0 && body.includes(name.slice(modifier))) || body.includes(quoted)
  }
  const [one, ...others] = parameters.length === 1 ? parameters : parameters.filter(isNamed)
  return one !== undefined && others.length === 0 ? one[0] : undefined
}
