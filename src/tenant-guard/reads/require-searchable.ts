import { Failure } from '../../envelope/failures.js'
import { hasSearchParameter, statedCapabilities } from '../capabilities.js'
import type { Include, SearchParameter } from '../interaction.js'
import type { TenantContext } from '../tenant-context.js'

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
  const stated = statedCapabilities(backend)
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
