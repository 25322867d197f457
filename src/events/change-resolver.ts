import type { FastifyBaseLogger } from 'fastify'
import { BackgroundTask } from '../time/background-task.js'
import type { FoundChanges, Intent } from './intent.js'
import type { EventLog } from './log.js'

/** Finds out from the datastore which changes of an intent were made. @throws {Failure} if it can't be determined */
export type FindMade = (intent: Intent) => Promise<FoundChanges>

interface ResolverParts {
  readonly eventLog: EventLog
  readonly findCreated: FindMade
  readonly now: () => Date
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  /** How long after an intent a write may still be under way in the datastore, in milliseconds. */
  readonly settleMs?: number
}

/** The maximum number of intents that are resolved in one turn. */
const maxAtOnce = 50
const idleMs = 1_000
const retryMs = 5_000

/** Concludes the intents whose outcome is unknown, after a crash or without a response, by queries to the datastore. */
export class ChangeResolver {
  readonly #parts: Required<ResolverParts>
  readonly #task: BackgroundTask
  #isFailing = false

  /** Starts at once. */
  constructor (parts: ResolverParts) {
    this.#parts = { settleMs: 30_000, ...parts }
    this.#task = new BackgroundTask(stopping => this.#resolve(stopping))
  }

  /** The intents that remain are concluded after the next start. */
  stop (): Promise<void> {
    return this.#task.stop()
  }

  /** @returns how long to wait afterwards, in milliseconds */
  async #resolve (stopping: AbortSignal): Promise<number> {
    const { eventLog, now, settleMs } = this.#parts
    try {
      const unknown = await eventLog.listUnresolved(maxAtOnce)
      const before = new Date(now().getTime() - settleMs).toISOString()
      // One by one, since what one intent created is then known to be none of the next one's.
      for (const [id, intent] of unknown) {
        if (stopping.aborted) return 0
        if (intent.startedAt <= before) await this.#conclude(id, intent)
      }
      this.#isFailing = false
      return idleMs
    } catch (error) {
      if (!this.#isFailing) {
        this.#parts.log.warn({ err: error }, 'what became of some changes cannot be found out yet; it is tried again')
      }
      this.#isFailing = true
      return retryMs
    }
  }

  async #conclude (id: number, intent: Intent): Promise<void> {
    const { eventLog, findCreated } = this.#parts
    try {
      const { named, created } = await findCreated(intent)
      // What was found may be of requests that have yet to write down their own events.
      if (created.length > 0) await eventLog.waitForOpenChanges()
      const known = await eventLog.listCreatedSince(new Date(Date.parse(intent.startedAt) - settleWindowMs))
      const own = created.filter(({ type, id }) => !known.has(`${type}/${id}`))
      await eventLog.conclude(id, intent, [...named, ...own])
    } catch (error) {
      // Others may be in a datastore that responds.
      eventLog.postpone(id)
      throw error
    }
  }
}

/** Events of so long before an intent are searched: more than clocks differ. */
const settleWindowMs = 600_000
