import { sql, PostgresAdapter, type Transaction } from 'kysely'
import type { Tables } from '../tables.js'

/** What PostgreSQL's notifications of changes are sent to. */
export const channel = 'clinigate_changes'

/** Tells the listeners of all processes of what this transaction changes, in the moment in which it can be seen; on SQLite they ask by themselves. */
export async function announce (trx: Transaction<Tables>): Promise<void> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter) await sql`SELECT pg_notify(${channel}, '')`.execute(trx)
}
