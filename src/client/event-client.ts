import { ClinigateError } from './errors.js'
import type { paths } from './openapi.js'
import type { RequestOptions } from './resource-client.js'
import { pause } from './retry.js'
import type { Send } from './send.js'

/** Some events, oldest first, and where to continue. */
export type EventPage = paths['/v1/events']['get']['responses'][200]['content']['application/json']['data']

/** A change of a record, with ids only. */
export type ChangeEvent = EventPage['data'][number]

type EventQuery = NonNullable<paths['/v1/events']['get']['parameters']['query']>

/** Where and with what following begins. */
export interface FollowOptions extends RequestOptions, Pick<EventQuery, 'types' | 'since' | 'cursor'> {
  /** Called with the cursor of a page once its events were taken: store it, to continue there after a restart. */
  readonly onCursor?: (cursor: string) => void | Promise<void>
  /** Called with each failure that may pass, before following goes on; what it throws ends following. */
  readonly onFailure?: (error: ClinigateError) => void
}

/** How long a request waits for an event, in seconds: as long as the gateway allows. */
const waitSeconds = 30
const maxEvents = 100
const pauseMs = 2_000

/** The changes of the records of the key's organization and mode. */
export class EventClient {
  readonly #send: Send

  constructor (send: Send) {
    this.#send = send
  }

  /** One page. Its cursor is valid also where there are no events yet. */
  list (query: EventQuery = {}, { signal }: RequestOptions = {}): Promise<EventPage> {
    return this.#send({ method: 'GET', path: '/v1/events', query, signal })
  }

  /**
   * Every event from a cursor or time on, and then each as it comes, until the signal is aborted or the loop is left:
   * `for await (const event of client.events.follow())`. It goes on after failures that pass. An event may come twice,
   * with the same id.
   */
  async * follow (
    { onCursor, onFailure, signal, ...query }: FollowOptions = {}
  ): AsyncGenerator<ChangeEvent, void, undefined> {
    let { cursor } = query
    for (;;) {
      signal?.throwIfAborted()
      const position = cursor !== undefined && { cursor }
      const page = await this.#fetchPage(
        { ...query, ...position, count: maxEvents, wait: waitSeconds },
        { signal, onFailure }
      )
      if (page === undefined) continue
      yield * page.data
      cursor = page.cursor
      await onCursor?.(cursor)
    }
  }

  /** Undefined after a failure that may pass, and a pause. */
  async #fetchPage (
    query: EventQuery,
    { signal, onFailure }: Pick<FollowOptions, 'signal' | 'onFailure'>
  ): Promise<EventPage | undefined> {
    try {
      return await this.list(query, { signal })
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof ClinigateError) || !mayPass(error)) throw error
      onFailure?.(error)
      await pause(pauseMs, signal)
      return undefined
    }
  }
}

/** Without a response of the gateway, after too many requests, and for errors of it. */
const mayPass = ({ status }: ClinigateError): boolean =>
  status < 300 || status === 429 || (status >= 500 && status !== 501)
