import { noParameter } from '../../mappings/core/filter.js'
import { listReferenceParameters } from '../../mappings/r4/search-parameters.js'
import { mappings } from '../../mappings/registry.js'
import { hasSearchParameter, parseCapabilities, type Capabilities } from '../../tenant-guard/capabilities.js'
import { isTypeServed } from '../../tenant-guard/served-types.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'
import { restrict } from '../../tenant-guard/restrict.js'
import { fails, holdsIf, type Check, type CheckObservation } from './check.js'
import type { TestTenant } from './test-tenant.js'

/** Checks of which types and search parameters of R4 the server supports, by its statement and by trying. */
export const coverageChecks: readonly Check[] = [
  {
    name: 'stated-types',
    title: 'The CapabilityStatement lists every resource type that the server serves',
    otherwise: 'degraded',
    gateway: 'Exports and clinigate audit try the types that are not listed, which takes a request for each.',
    remedy: 'Make the server list them, or stop serving them.',
    examine: async trial => {
      const { types } = await fetchStatedCapabilities(trial)
      const unstated: string[] = []
      for (const type of resourceTypes) {
        if (types.includes(type) || !isTenantType(type)) continue
        if (await isServed(trial, type)) unstated.push(type)
      }
      return holdsIf(unstated.length === 0, `not listed: ${formatNames(unstated)}`)
    }
  },
  {
    name: 'written-types',
    title: 'Records of every simple resource can be created and changed',
    otherwise: 'degraded',
    gateway: 'Writes of these types are answered with 501. AuditEvents of accesses are not stored if AuditEvent is one.',
    remedy: 'Turn these types on in the server if clients need them; auditLog.auditEvents needs AuditEvent.',
    examine: async trial => {
      const { resources } = await fetchStatedCapabilities(trial)
      const readOnly: string[] = []
      for (const type of typesOfMappings) {
        const interactions = resources.get(type)?.interactions
        const isWritten =
          interactions === undefined
            // Such a type is written like any other.
            ? await isServed(trial, type)
            : interactions.has('create') && interactions.has('update')
        if (!isWritten) readOnly.push(type)
      }
      return holdsIf(readOnly.length === 0, `without create or update: ${formatNames(readOnly)}`)
    }
  },
  {
    name: 'stated-filters',
    title: 'The server has the search parameter of every filter',
    otherwise: 'degraded',
    gateway: 'A search by one of these is answered with 400. A group export reads all records of the type instead.',
    remedy: 'Turn these search parameters on in the server, or tell clients that these filters are missing.',
    examine: async trial => checkFilters(await fetchStatedCapabilities(trial))
  },
  {
    name: 'stated-includes',
    title: 'The server has the search parameter of every reference that an include follows',
    otherwise: 'degraded',
    gateway: 'A request that follows one of these by include, _include or _revinclude is answered with 400.',
    remedy: 'Turn these search parameters on in the server, or tell clients that these includes are missing.',
    examine: async trial => checkIncludes(await fetchStatedCapabilities(trial))
  }
]

const typesOfMappings: readonly string[] = [...new Set(mappings.map(({ type }) => type))]

const isServed = async (trial: TestTenant, type: string): Promise<boolean> =>
  isTypeServed(await trial.send(restrict({ type, parameters: [], count: 0 }, trial.tenant)))

/** @throws {Error} if the server states nothing, which an earlier check reports */
async function fetchStatedCapabilities (trial: TestTenant): Promise<Capabilities> {
  const capabilities = parseCapabilities(await trial.send({ method: 'GET', path: 'metadata' }))
  if (capabilities === undefined) throw new Error('the server has no CapabilityStatement')
  return capabilities
}

function checkIncludes (capabilities: Capabilities): CheckObservation {
  const missing = typesOfMappings.flatMap(type =>
    listReferenceParameters(type)
      .filter(parameter => !hasSearchParameter(capabilities, type, parameter))
      .map(parameter => `${type}:${parameter}`)
  )
  return holdsIf(missing.length === 0, `not listed: ${formatNames(missing)}`)
}

function checkFilters ({ resources }: Capabilities): CheckObservation {
  const missing = mappings.flatMap(({ path: name, type, filters }) => {
    const stated = resources.get(type)?.searchParameters
    return Object.entries(filters)
      .filter(([, { param }]) => param !== noParameter && !param.startsWith('_') && stated?.has(param) !== true)
      .map(([filter]) => `${name}?${filter}`)
  })
  return missing.length === 0
    ? holdsIf(true, '')
    : fails(`${missing.length} filters are not listed: ${formatNames(missing)}`)
}

const maxNames = 40

/** The names, or the first of many and how many more there are. */
const formatNames = (names: readonly string[]): string =>
  names.length <= maxNames
    ? names.join(', ')
    : `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more`
