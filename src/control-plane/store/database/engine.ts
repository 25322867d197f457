import { Migrator, type Kysely } from 'kysely'
import type { ChangeSource } from '../change-notifier.js'
import { migrations } from '../migrations/index.js'
import type { Tables } from '../tables.js'

/** An open control database, SQLite or PostgreSQL, with migrated tables. */
export interface Engine {
  readonly db: Kysely<Tables>
  readonly changes: ChangeSource
}

/** Migrates the tables to the present version. */
export async function migrate (db: Kysely<any>): Promise<void> {
  const { error } = await new Migrator({ db, provider: migrations }).migrateToLatest()
  if (
    /^corrupted migrations: previously executed migration .* is missing/.test(
      (error as Error | undefined)?.message ?? ''
    )
  ) {
    throw new Error(
      'a newer version of clinigate created or upgraded the control database; start that version, or restore the backup from before the upgrade',
      { cause: error }
    )
  }
  if (error !== undefined) throw error
}
