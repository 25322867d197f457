import type { Kysely } from 'kysely'
import { ChangeNotifier, type ChangeSubscription } from './change-notifier.js'
import type { Engine } from './database/engine.js'
import { openSqlite } from './database/sqlite.js'
import type { Tables } from './tables.js'

/** Where the control database is. */
export interface DatabaseLocation {
  /** The SQLite file, used if there is no URL. It and its directory are created if missing. */
  readonly file: string
  /** The URL of an existing PostgreSQL database. It contains a password: never log it. */
  readonly url?: string
}

/** The control database. Several processes may have it open at the same time. */
export interface ControlDatabase {
  readonly db: Kysely<Tables>
  /** Starts listening for changes. */
  readonly listenForChanges: () => ChangeSubscription
  readonly close: () => Promise<void>
}

/**
 * Opens the control database and migrates its tables. Another process may be doing the same.
 * @throws {DatabaseUnavailable} if PostgreSQL is down or refuses the connection
 */
export async function openDatabase ({ file, url }: DatabaseLocation): Promise<ControlDatabase> {
  const { db, changes } = await (url === undefined ? openSqlite(file) : openLoadedPostgres(url))
  const notifier = new ChangeNotifier(changes)
  return {
    db,
    listenForChanges: () => notifier.listen(),
    close: async () => {
      await notifier.close()
      await db.destroy()
    }
  }
}

/** Loads the driver only where it is used. */
async function openLoadedPostgres (url: string): Promise<Engine> {
  const { openPostgres } = await import('./database/postgres.js')
  return openPostgres(url)
}
