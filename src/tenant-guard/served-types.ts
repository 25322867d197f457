import { fetchCapabilities, type Capabilities } from './capabilities.js'
import type { Send } from './retry.js'
import { isTenantType, sharedTypes } from './resource-types.js'

/** The resource types that a datastore says it serves. */
interface ServedTypes {
  /** Those that tenants can have records of, the ones that others refer to first. */
  readonly tenant: readonly string[]
  /** Those that belong to no tenant: conformance types and Subscription. */
  readonly shared: readonly string[]
  /** Whether it exports records itself: http://hl7.org/fhir/uv/bulkdata/ */
  readonly hasExport: boolean
}

/** Others refer to these most; a walk that meets them first has fewer references to remember. */
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

/** Reads them from the datastore's CapabilityStatement. */
export async function supportedTypes (send: Send): Promise<ServedTypes> {
  return servedBy(await fetchCapabilities(send))
}

/** The types of a datastore with these capabilities. */
export function servedBy ({ types, hasExport }: Capabilities): ServedTypes {
  const rank = (type: string): number => (oftenReferredTo.indexOf(type) + 1) || Infinity
  return {
    tenant: types.filter(isTenantType).sort((one, other) => rank(one) === rank(other) ? 0 : rank(one) - rank(other)),
    shared: types.filter(type => sharedTypes.has(type)),
    hasExport
  }
}
