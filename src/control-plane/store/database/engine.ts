import { Migrator, type Kysely, type MigrationProvider } from 'kysely'
import type { ChangeSource } from '../change-notifier.js'
import type { Tables } from '../tables.js'
import * as organizationsAndKeys from '../migrations/001-organizations-and-keys.js'
import * as peopleAndMachines from '../migrations/002-people-and-machines.js'
import * as usage from '../migrations/003-usage.js'
import * as jobs from '../migrations/004-jobs.js'
import * as statesThatGatewaysTake from '../migrations/005-states-that-gateways-take.js'
import * as events from '../migrations/006-events.js'
import * as webhooks from '../migrations/007-webhooks.js'
import * as subscriptions from '../migrations/008-subscriptions.js'

/** All migrations of the control database in the order of their names. A released migration never changes. */
const migrations: MigrationProvider = {
  getMigrations: async () => ({
    '001-organizations-and-keys': organizationsAndKeys,
    '002-people-and-machines': peopleAndMachines,
    '003-usage': usage,
    '004-jobs': jobs,
    '005-states-that-gateways-take': statesThatGatewaysTake,
    '006-events': events,
    '007-webhooks': webhooks,
    '008-subscriptions': subscriptions
  })
}

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
