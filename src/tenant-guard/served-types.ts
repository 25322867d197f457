import { fetchCapabilities, type Capabilities } from './capabilities.js'
import type { Send } from './retry.js'
import type { BackendResponse } from '../backends/backend.js'
import { unexpectedResponse } from './tenant-context.js'
import { isTenantType, resourceTypes, sharedTypes } from '../fhir/resource-types.js'

/** The resource types that a datastore says it serves. */
interface ServedTypes {
  /** Those that tenants can have records of, the ones that others refer to first. */
  readonly tenant: readonly string[]
  /** Those that belong to no tenant: conformance types and Subscription. */
  readonly shared: readonly string[]
  /** Whether it exports records itself: http://hl7.org/fhir/uv/bulkdata/ */
  readonly hasExport: boolean
}

/** Most references lead to these types; a scan that finds them first has fewer references to remember. */
const oftenReferredTo = [
  'Organization',
  'Location',
  'Practitioner',
  'PractitionerRole',
  'Patient',
  'Device',
  'EpisodeOfCare',
  'Encounter'
]

/**
 * Reads them from the datastore's CapabilityStatement, and tries the types of R4 that it leaves out, since records of
 * such a type may exist.
 */
export async function discoverServedTypes (send: Send): Promise<ServedTypes> {
  const capabilities = await fetchCapabilities(send)
  const unstated: string[] = []
  for (const type of resourceTypes) {
    if (capabilities.types.includes(type)) continue
    const headers = { 'cache-control': 'no-cache' }
    if (isTypeServed(await send({ method: 'GET', path: `${type}?_summary=count`, headers }))) unstated.push(type)
  }
  return toServedTypes({ ...capabilities, types: [...capabilities.types, ...unstated].sort() })
}

/**
 * Whether the response to a search without conditions of the client's means that the datastore serves the type.
 * @throws {Failure} if it does not say
 */
export function isTypeServed (response: BackendResponse): boolean {
  if (response.status === 200) return true
  if ([400, 404, 405, 410, 422, 501].includes(response.status)) return false
  throw unexpectedResponse(response, 'whether a type is served was not answered')
}

/** The types of a datastore with these capabilities. */
export function toServedTypes ({ types, hasExport }: Capabilities): ServedTypes {
  const rank = (type: string): number => (oftenReferredTo.indexOf(type) + 1) || Infinity
  return {
    tenant: types.filter(isTenantType).sort((one, other) => rank(one) === rank(other) ? 0 : rank(one) - rank(other)),
    shared: types.filter(type => sharedTypes.has(type)),
    hasExport
  }
}
