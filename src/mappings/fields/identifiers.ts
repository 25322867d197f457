import { identifier, identifierExcept } from '../datatypes/complex.js'

/** The business identifiers of a resource, without those of systems that have a field of their own. */
export const identifiers = (...ownSystems: readonly string[]) =>
  identifierExcept(...ownSystems).list('identifier', { filter: 'identifier', filterName: 'identifier' })

/** The one business identifier of a resource whose R4 type has 0..1. */
export const oneIdentifier = () => identifier('identifier', { filter: 'identifier' })
