import { toDefinitionUrl, toOperationUrl, toTopicUrl } from '../../../events/subscriptions/notification.js'
import { isTenantType, resourceTypes } from '../../../fhir/resource-types.js'
import type { Offered } from '../../../tenant-guard/capabilities.js'
import { subscriptionParameters } from './query.js'
import { subscriptionProfile } from './resource.js'

/** The guide's requirements on a server, which this gateway meets. */
export const subscriptionServer =
  'http://hl7.org/fhir/uv/subscriptions-backport/CapabilityStatement/backport-subscription-server-r4'

/** The part of a CapabilityStatement about subscriptions, with a topic for each type that datastores have. */
export function buildSubscriptionCapability (fhirBase: string, { hasType }: Offered): unknown {
  return {
    extension: [...resourceTypes].filter(type => isTenantType(type) && hasType(type)).map(type => ({
      url: toDefinitionUrl('capabilitystatement-subscriptiontopic-canonical'), valueCanonical: toTopicUrl(fhirBase, type)
    })),
    type: 'Subscription',
    supportedProfile: [subscriptionProfile],
    documentation:
      'Topic-based subscriptions with the channel rest-hook and the content id-only or empty, for keys with the scope webhooks that may read the type of the topic. Filters are not supported.',
    interaction: ['read', 'update', 'delete', 'create', 'search-type'].map(code => ({ code })),
    versioning: 'versioned',
    readHistory: false,
    updateCreate: false,
    searchParam: Object.entries(subscriptionParameters).map(([name, type]) => ({ name, type })),
    operation: ['status', 'events'].map(name => ({ name, definition: toOperationUrl(name) }))
  }
}
