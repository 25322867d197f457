import type { Kysely } from 'kysely'
import { ChangeBell, type ChangesHeard } from './changes-heard.js'
import type { Engine } from './database/engine.js'
import { openSqlite } from './database/sqlite.js'
import type { Tables } from './tables.js'

/** Where the control database is. */
export interface DatabasePlace {
  /** The SQLite file, when no URL is given; it and its directory are made where they are missing. */
  readonly file: string
  /** A PostgreSQL database, which must be there. Its password is in it: never log it. */
  readonly url?: string
}

/** The control database, which several processes may have open at a time. */
export interface ControlDatabase {
  readonly db: Kysely<Tables>
  /** Begins to listen for changes. */
  readonly hearChanges: () => ChangesHeard
  readonly close: () => Promise<void>
}

/**
 * Opens the control database and brings its tables up to date; another process may be doing the same.
 * @throws {DatabaseUnavailable} when PostgreSQL is down or refuses
 */
export async function openDatabase ({ file, url }: DatabasePlace): Promise<ControlDatabase> {
  const { db, changes } = await (url === undefined ? openSqlite(file) : openLoadedPostgres(url))
  const bell = new ChangeBell(changes)
  return {
    db,
    hearChanges: () => bell.listen(),
    close: async () => {
      await bell.close()
      await db.destroy()
    }
  }
}

/** Its driver is loaded by those alone who use it. */
async function openLoadedPostgres (url: string): Promise<Engine> {
  const { openPostgres } = await import('./database/postgres.js')
  return openPostgres(url)
}
