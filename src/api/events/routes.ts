import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../../envelope/failures.js'
import {
  commonFailures, describeRoute, buildEnvelopeSchema, buildFailureResponses
} from '../../envelope/openapi-responses.js'
import {
  changes, howToSwitchOn, presentEvent, presentedEventSchema, typeFilterPattern, type EventFeed, type PresentedEvent,
  type StoredEvent
} from '../../events/event.js'
import { toEventType } from '../../events/to-events.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'
import type { Scope } from '../../keys/caller.js'
import { isLimited, may } from '../../keys/scopes.js'
import { pollRouteOptions } from '../../limits/rate-limit.js'
import { invalidCursor, type CursorBinding, type Cursors } from '../../tenant-guard/cursor.js'
import { readEventQuery, type EventRequest } from './read-query.js'

/** The events of all gateways, and cursors that are valid as long as events are retained. */
interface EventRoutesOptions {
  readonly feed: EventFeed
  readonly cursors: Cursors
}

interface EventPage {
  readonly data: readonly PresentedEvent[]
  /** Where to continue, also if there are no events yet. */
  readonly cursor: string
  readonly hasMore: boolean
}

/** Events that were found, and the position after them. */
interface EventList {
  readonly events: readonly StoredEvent[]
  readonly position: number
  readonly hasMore: boolean
}

const page = {
  type: 'object',
  properties: {
    data: { type: 'array', items: presentedEventSchema },
    cursor: { type: 'string', description: 'Where to continue, also if there are no events yet.' },
    hasMore: { type: 'boolean' }
  },
  required: ['data', 'cursor', 'hasMore']
}

const listEventsRoute = {
  config: { ...pollRouteOptions.config, target: 'any' },
  ...describeRoute({
    operationId: 'listEvents',
    tags: ['service'],
    summary: 'List the changes of records',
    description:
      'Each change of a record that a client was told of, by whatever request, is an event; oldest first. An event names the record and has nothing of its content. The list has the events of the organization and mode of the key.',
    query: {
      count: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Maximum events.' },
      cursor: { type: 'string', description: 'The cursor of an earlier response.' },
      types: {
        type: 'array',
        items: { type: 'string', pattern: typeFilterPattern },
        description: 'Only these types.',
        examples: [['patients.*', 'observations.created']]
      },
      since: { type: 'string', format: 'date-time', description: 'Only events since this time.' },
      wait: {
        type: 'integer',
        minimum: 0,
        maximum: 30,
        default: 0,
        description: 'If there are no events, wait for one, at most so many seconds.'
      }
    },
    responses: {
      200: { description: 'The events.', content: { 'application/json': { schema: buildEnvelopeSchema(page) } } },
      ...buildFailureResponses([...commonFailures, 'BAD_REQUEST', 'INVALID_CURSOR', 'BACKEND_UNAVAILABLE'])
    }
  })
} as const

/**
 * `GET /v1/events`: the changes of the records of the caller's organization and mode, oldest first. With `wait`, a
 * request for which there are none is held until there are.
 */
export async function eventRoutes (scope: FastifyInstance, { feed, cursors }: EventRoutesOptions): Promise<void> {
  const latest = new LatestEvent(feed)
  const closing = new AbortController()
  // Before the server waits for requests in progress to end.
  scope.addHook('preClose', async () => closing.abort())
  scope.get('/events', listEventsRoute, async (request, reply): Promise<EventPage> => {
    const query = readEventQuery(request.raw.url)
    request.warnings = query.warnings
    const binding = toCursorBinding(request)
    const after = query.cursor === undefined ? undefined : parsePosition(cursors.open(query.cursor, binding).link)
    const list = (position: number | undefined, latest?: number) =>
      listEvents(feed, request, { ...query, after: position, latest })
    let found = await list(after)
    if (found.events.length === 0 && query.wait > 0) {
      const first = found
      const isOver = createEndCheck(reply, { closing: closing.signal, seconds: query.wait })
      const waited = await latest.hold(request.caller.keyId, () => waitForEvents(latest, { first, list, isOver }))
      if (waited === undefined) throw tooManyWaitingRequests()
      found = waited
    }
    const { events, position, hasMore } = found
    const cursor = cursors.seal({ link: String(position), filters: '', count: query.count }, binding)
    return { data: events.map(presentEvent), cursor, hasMore }
  })
}

/** In place of the routes where the gateway writes no events: says why there are none. */
export async function disabledEventRoutes (scope: FastifyInstance): Promise<void> {
  scope.get('/events', { schema: { hide: true } }, async () => {
    throw new Failure('NOT_FOUND', { message: `Events are switched off here. ${howToSwitchOn}` })
  })
}

interface WaitOptions {
  readonly first: EventList
  readonly list: (position: number, latest: number) => Promise<EventList>
  readonly isOver: () => boolean
}

/** The first events after those that were found; none if the time is over before. */
async function waitForEvents (latest: LatestEvent, { first, list, isOver }: WaitOptions): Promise<EventList> {
  let found = first
  while (found.events.length === 0 && !isOver()) {
    const number = await latest.poll()
    if (number > found.position) found = await list(found.position, number)
  }
  return found
}

/** Where to continue, and the number of the latest event if it was read before. */
interface EventPosition {
  readonly after: number | undefined
  readonly latest: number | undefined
}

async function listEvents (
  feed: EventFeed,
  { caller: { tenantId: organizationId, mode, scopes } }: FastifyRequest,
  { count, types: requested, since, after, latest: known }: EventRequest & EventPosition
): Promise<EventList> {
  // Read before the list: all events up to it are visible then, so what is not in the list is not for this client.
  const latest = known ?? await feed.getLatestSequence()
  const types = isLimited(scopes, 'read') ? listReadableTypes(scopes, requested) : requested
  const found = await feed.list({
    organizationId,
    mode,
    limit: count + 1,
    ...after !== undefined && { after },
    ...types !== undefined && { types: [...types] },
    ...since !== undefined && { since }
  })
  const events = found.slice(0, count)
  const last = events.at(-1)?.sequence ?? after ?? 0
  const hasMore = found.length > count
  return { events, hasMore, position: hasMore ? last : Math.max(last, latest) }
}

/** The requested types of events that a key with limited scopes may read. */
function listReadableTypes (scopes: readonly Scope[], requested: readonly string[] = ['*']): readonly string[] {
  const types = [...resourceTypes].filter(type => isTenantType(type) && may(scopes, 'read', { type }))
  const isRequested = (type: string) =>
    requested.some(filter => filter === '*' || filter === type || filter === type.replace(/[a-z]+$/, '*'))
  return types.flatMap(type => changes.map(kind => toEventType(type, kind))).filter(isRequested)
}

/** Whether a request that waits gets its response now: its time is over, its client is gone, or the process closes. */
function createEndCheck (
  { raw }: FastifyReply,
  { closing, seconds }: { readonly closing: AbortSignal, readonly seconds: number }
): () => boolean {
  const until = performance.now() + seconds * 1_000
  return () => closing.aborted || raw.destroyed || performance.now() >= until
}

/** Cursors of another organization or mode are invalid. */
function toCursorBinding ({ caller: { tenantId: tenant, mode } }: FastifyRequest): CursorBinding {
  return { tenant, mode, datastore: '', route: 'events', type: '' }
}

function parsePosition (link: string): number {
  if (!/^\d{1,15}$/.test(link)) throw invalidCursor()
  return Number(link)
}

function tooManyWaitingRequests (): Failure {
  return new Failure('RATE_LIMITED', {
    message: 'Too many requests for events wait at a time. Use one per key, or send no wait.',
    headers: { 'retry-after': '1' }
  })
}

/** How often the control plane is queried for new events while requests wait. */
const pollIntervalMs = 500

/** Requests that may wait at a time: of one key, and of all. */
const maxWaitingPerKey = 4
const maxWaitingTotal = 1_000

/** The number of the latest event, requested once for all requests that wait for another one. */
class LatestEvent {
  readonly #feed: Pick<EventFeed, 'getLatestSequence'>
  readonly #waiting = new Map<string, number>()
  #next: Promise<number> | undefined

  constructor (feed: Pick<EventFeed, 'getLatestSequence'>) {
    this.#feed = feed
  }

  /** Lets a request of a key wait while `work` runs. @returns undefined if too many wait already */
  async hold<T> (keyId: string, work: () => Promise<T>): Promise<T | undefined> {
    const ofKey = this.#waiting.get(keyId) ?? 0
    const ofAll = [...this.#waiting.values()].reduce((sum, count) => sum + count, 0)
    if (ofKey >= maxWaitingPerKey || ofAll >= maxWaitingTotal) return undefined
    this.#waiting.set(keyId, ofKey + 1)
    try {
      return await work()
    } finally {
      const left = this.#waiting.get(keyId)! - 1
      if (left === 0) this.#waiting.delete(keyId)
      else this.#waiting.set(keyId, left)
    }
  }

  /** The number of the latest event, after a short time. @throws what the control plane throws */
  poll (): Promise<number> {
    this.#next ??= pause(pollIntervalMs).then(() => {
      this.#next = undefined
      return this.#feed.getLatestSequence()
    })
    return this.#next
  }
}
