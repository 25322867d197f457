import { Migrator, type Kysely } from 'kysely'
import type { ChangeSource } from '../changes-heard.js'
import { migrations } from '../migrations/index.js'
import type { Tables } from '../tables.js'

/** An open control database of one kind, its tables up to date. */
export interface Engine {
  readonly db: Kysely<Tables>
  readonly changes: ChangeSource
}

/** Brings the tables up to date. */
export async function migrate (db: Kysely<any>): Promise<void> {
  const { error } = await new Migrator({ db, provider: migrations }).migrateToLatest()
  if (error !== undefined) throw error
}
