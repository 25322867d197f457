import type { Kysely, Transaction } from 'kysely'
import type { Batch, Change, EntityState, Position } from '../keys/change-feed.js'
import type { Tables } from './tables.js'

/** One line of the audit trail. */
export interface AuditEntry {
  readonly at: string
  readonly actor: string
  readonly action: string
  /** A tenant id or a key id. */
  readonly entity: string
  readonly detail: unknown
}

/** What was done, and the state that gateways must know of since. */
export type Deed = AuditEntry & { readonly now: EntityState }

/** Runs a change in a transaction; changes of all processes come one after another, each seeing what the one before left. */
export function inTurn<T> (db: Kysely<Tables>, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
  return db.transaction().execute(async trx => {
    // Taking the row first makes numbers become visible in their order on PostgreSQL, and keeps a transaction on SQLite
    // from reading before it has the right to write.
    await trx.updateTable('feed').set(eb => ({ seq: eb.ref('seq') })).execute()
    return work(trx)
  })
}

/** Writes a deed to the feed and to the audit trail, under the next number, in the transaction that does it. */
export async function record (trx: Transaction<Tables>, { now, at, actor, action, entity, detail }: Deed): Promise<void> {
  const { seq } = await trx.updateTable('feed').set(eb => ({ seq: eb('seq', '+', 1) })).returning('seq').executeTakeFirstOrThrow()
  const latest = { seq, payload: JSON.stringify(now.state), at }
  await trx.insertInto('changes')
    .values({ kind: now.kind, entity, ...latest })
    .onConflict(conflict => conflict.columns(['kind', 'entity']).doUpdateSet(latest))
    .execute()
  await trx.insertInto('auditTrail').values({ seq, at, actor, action, entity, detail: JSON.stringify(detail) }).execute()
}

/** What a copy at this position has missed, at most `limit` changes of it. */
export async function changesAfter (db: Kysely<Tables>, position: Position, limit: number): Promise<Batch> {
  const { feedId, seq } = await db.selectFrom('feed').select(['feedId', 'seq']).executeTakeFirstOrThrow()
  const startsOver = position.feedId !== feedId || position.seq > seq
  const after = startsOver ? 0 : position.seq
  const rows = after === seq
    ? []
    : await db.selectFrom('changes').selectAll().where('seq', '>', after).orderBy('seq').limit(limit).execute()
  const isLatest = rows.length < limit
  const last = rows.at(-1)?.seq ?? after
  return { feedId, startsOver, after, through: isLatest ? Math.max(last, seq) : last, isLatest, changes: rows.map(toChange) }
}

/** What was done to an organization or key, oldest first. */
export async function auditTrail (db: Kysely<Tables>, entity: string): Promise<AuditEntry[]> {
  const rows = await db.selectFrom('auditTrail').selectAll().where('entity', '=', entity).orderBy('seq').execute()
  return rows.map(({ at, actor, action, detail }) => ({ at, actor, action, entity, detail: JSON.parse(detail) }))
}

function toChange ({ seq, kind, payload }: Tables['changes']): Change {
  return { seq, kind, state: JSON.parse(payload) }
}
