import { invalidParameter, toSafeName } from '../../../envelope/query.js'
import type { EventRange, Subscription } from '../../../events/subscriptions/subscription.js'
import { toTopicUrl } from '../../../events/subscriptions/notification.js'
import { parseParameters } from '../parameters-resource.js'
import type { FhirRequest } from '../fhir-request.js'

/** The search parameters of Subscription that are supported, with their types in R4. */
export const subscriptionParameters = {
  _id: 'token', criteria: 'string', status: 'token', url: 'uri'
} as const

/** Which subscriptions are meant: those that match one of the values of each parameter. */
export type SubscriptionCriteria = ReadonlyArray<
  readonly [name: keyof typeof subscriptionParameters, values: readonly string[]]
>

/** The criteria of a search. @throws {Failure} BAD_REQUEST for what is not supported */
export function readSubscriptionSearch ({ query }: FhirRequest): SubscriptionCriteria {
  return query.map(([name, value]) => {
    if (Object.hasOwn(subscriptionParameters, name)) return [name as keyof typeof subscriptionParameters, value.split(',')]
    throw invalidParameter(
      toSafeName(name), `a search for subscriptions supports ${Object.keys(subscriptionParameters).join(', ')}, on one page`
    )
  })
}

/** The parameters of `$status`: any of the ids, and any of the states. @throws {Failure} BAD_REQUEST */
export function readStatusQuery (request: FhirRequest, isInstance: boolean): SubscriptionCriteria {
  const pairs = readParameters(request)
  for (const [name] of pairs) {
    if (name !== 'id' && name !== 'status') throw invalidParameter(toSafeName(name), 'the operation takes id and status')
  }
  // The guide has them ignored where the path names one subscription.
  if (isInstance) return []
  const getValues = (requested: string) => pairs.filter(([name]) => name === requested).map(([, value]) => value)
  return (
    [
      ['_id', getValues('id')],
      ['status', getValues('status')]
    ] as const
  ).filter(([, values]) => values.length > 0)
}

const contents: ReadonlySet<string> = new Set(['empty', 'id-only', 'full-resource'])

/** The range of `$events`. `content` is a hint, which is not followed. @throws {Failure} BAD_REQUEST */
export function readRange (request: FhirRequest): EventRange {
  const range: { since?: number, until?: number } = {}
  for (const [name, value] of readParameters(request)) {
    if (name === 'content' && contents.has(value)) continue
    if (name !== 'eventsSinceNumber' && name !== 'eventsUntilNumber') {
      throw invalidParameter(toSafeName(name), 'the operation takes eventsSinceNumber, eventsUntilNumber and a code for content')
    }
    const bound = name === 'eventsSinceNumber' ? 'since' : 'until'
    if (!/^\d{1,15}$/.test(value)) throw invalidParameter(name, 'expected the number of an event')
    if (range[bound] !== undefined) throw invalidParameter(name, 'is given twice')
    range[bound] = Number(value)
  }
  return range
}

/** By POST the parameters may be in a body as well: http://hl7.org/fhir/R4/operations.html#executing */
function readParameters ({ method, query, body }: FhirRequest): ReadonlyArray<readonly [name: string, value: string]> {
  if (method !== 'POST' || body === undefined) return query
  return [...query, ...parseParameters(body).map(({ name, value }) => {
    if (typeof value === 'string') return [name, value] as const
    throw invalidParameter(toSafeName(name), 'expected a value of a simple type')
  })]
}

const statusSystem = 'http://hl7.org/fhir/subscription-status|'

/** Whether a subscription matches. */
export function isMatch (subscription: Subscription, criteria: SubscriptionCriteria, fhirBase: string): boolean {
  const { id, status, endpoint, type } = subscription
  const values = { _id: id, status, url: endpoint, criteria: toTopicUrl(fhirBase, type) }
  return criteria.every(([name, wanted]) => wanted.some(value =>
    (name === 'status' && value.startsWith(statusSystem) ? value.slice(statusSystem.length) : value) === values[name]))
}
