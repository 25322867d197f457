import { sql, PostgresAdapter, type Transaction } from 'kysely'
import type { Tables } from '../tables.js'

/** The channel of PostgreSQL's notifications of changes. */
export const channel = 'clinigate_changes'

/**
 * Notifies the listeners of all processes when this transaction commits. On SQLite it does nothing, since listeners
 * poll.
 */
export async function notify (trx: Transaction<Tables>): Promise<void> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter) await sql`SELECT pg_notify(${channel}, '')`.execute(trx)
}
