import { sql, PostgresAdapter, type Transaction } from 'kysely'
import type { Tables } from './tables.js'

/** A listener for changes to the control database, by this process or another. */
export interface ChangeSubscription {
  /**
   * Resolves when there may be changes since it last resolved, or since listening started, and after this time at
   * the latest. A caller that starts listening before it reads misses nothing. Rejects when the signal is aborted.
   */
  next (signal: AbortSignal, withinMs: number): Promise<void>
  /** Stops listening. */
  close (): void
}

/** A source of change notifications. Some may be false, but no change is missed for long. */
export interface ChangeSource {
  /** Starts to notify of changes. The first change after this call is notified at the latest. */
  start (notify: () => void): void
  /** Stops notifying and releases its resources. */
  close (): Promise<void>
}

/** Passes notifications of changes to all listeners in the process. The source is started with the first listener. */
export class ChangeNotifier {
  readonly #source: ChangeSource
  readonly #subscribers = new Set<Subscriber>()
  #isStarted = false

  constructor (source: ChangeSource) {
    this.#source = source
  }

  /** Starts listening. */
  listen (): ChangeSubscription {
    const subscriber = new Subscriber(() => this.#subscribers.delete(subscriber))
    this.#subscribers.add(subscriber)
    if (!this.#isStarted) this.#source.start(() => { for (const each of this.#subscribers) each.onChange() })
    this.#isStarted = true
    return subscriber
  }

  /** Closes the source. */
  close (): Promise<void> {
    return this.#source.close()
  }
}

/** Remembers a notification that arrives while no caller waits. */
class Subscriber implements ChangeSubscription {
  readonly close: () => void
  #hasNotified = false
  #wake = (): void => {}

  constructor (close: () => void) {
    this.close = close
  }

  onChange (): void {
    this.#hasNotified = true
    this.#wake()
  }

  async next (signal: AbortSignal, withinMs: number): Promise<void> {
    signal.throwIfAborted()
    if (!this.#hasNotified) await this.#wait(signal, withinMs)
    this.#hasNotified = false
  }

  #wait (signal: AbortSignal, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const withCleanup = (settle: () => void) => () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        settle()
      }
      const stop = withCleanup(() => reject(signal.reason))
      this.#wake = withCleanup(resolve)
      const timer = setTimeout(this.#wake, withinMs)
      signal.addEventListener('abort', stop)
    })
  }
}

/** The channel of PostgreSQL's notifications of changes. */
export const channel = 'clinigate_changes'

/**
 * Notifies the listeners of all processes when this transaction commits. On SQLite it does nothing, since listeners
 * poll.
 */
export async function notify (trx: Transaction<Tables>): Promise<void> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter) await sql`SELECT pg_notify(${channel}, '')`.execute(trx)
}
