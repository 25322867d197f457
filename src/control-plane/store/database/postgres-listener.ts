import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { getJitteredBackoffMs } from '../../../time/backoff.js'
import { BackgroundTask } from '../../../time/background-task.js'
import { channel, type ChangeSource } from '../change-notifier.js'

const pauses = { firstMs: 100, maxMs: 5_000 }
/** How often the connection is checked, since a broken one may not report an error. */
const triedEveryMs = 5_000
const responseTimeoutMs = 2_000

/** The callbacks of one connection of a listener. */
interface Listening {
  readonly onConnected: () => void
  readonly notify: () => void
  readonly stopping: AbortSignal
}

/**
 * Listens to the notifications of other processes on a connection of its own, which it reopens whenever it breaks. It
 * then notifies of a change, since one may have been missed and listeners should learn that the server is gone. See
 * https://www.postgresql.org/docs/current/sql-listen.html
 */
export class PostgresListener implements ChangeSource {
  readonly #settings: pg.ClientConfig
  #listening: BackgroundTask | undefined

  constructor (settings: pg.ClientConfig) {
    this.#settings = { ...settings, query_timeout: responseTimeoutMs }
  }

  start (notify: () => void): void {
    let failures = 0
    this.#listening = new BackgroundTask(async stopping => {
      await this.#listen({ onConnected: () => { failures = 0 }, notify, stopping })
      return getJitteredBackoffMs(pauses, failures++)
    })
  }

  async close (): Promise<void> {
    await this.#listening?.stop()
  }

  /** Resolves when the connection breaks or is no longer needed. */
  async #listen ({ onConnected, notify, stopping }: Listening): Promise<void> {
    const client = new pg.Client(this.#settings)
    const over = new AbortController()
    const end = (): void => over.abort()
    stopping.addEventListener('abort', end)
    client.on('end', end).on('error', end).on('notification', notify)
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      onConnected()
      notify()
      for (;;) {
        await pause(triedEveryMs, undefined, { signal: over.signal })
        await client.query('SELECT 1')
      }
    } catch {
      // A listener that reads now learns from the pool whether the server is down, or only this connection broke.
      notify()
    } finally {
      stopping.removeEventListener('abort', end)
      await Promise.race([client.end().catch(() => {}), pause(responseTimeoutMs, undefined, { ref: false })])
    }
  }
}
