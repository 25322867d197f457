import type { Kysely, Transaction } from 'kysely'
import { Type, type Static } from 'typebox'
import type { Batch, Change, EntityState, Position } from '../../keys/change-feed.js'
import { textSchema as text, dateTimeSchema as time, entitySchema, tenantIdSchema } from './entity-schema.js'
import { notify } from './change-notifier.js'
import type { Tables } from './tables.js'

/** The schema of an {@link AuditEntry}. */
export const auditEntrySchema = entitySchema({
  seq: Type.Integer({ description: 'Position of the line; pass the last one as `before` to get earlier lines' }),
  at: time('When it was done'),
  actor: Type.String({
    description:
      'Who did it, such as `member:ann@example.org (mem-…)`, `token:tok-…` or `cli:root`; the oldest lines have members without their id'
  }),
  action: Type.String({ description: 'What was done' }),
  entity: Type.String({ description: 'The id of what was changed' }),
  /** The organization that it concerns. */
  tenantId: Type.Optional(tenantIdSchema),
  detail: Type.Unknown({ description: 'The fields that were set, without secrets' })
})

/** One line of the audit trail. */
export type AuditEntry = Readonly<Static<typeof auditEntrySchema>>

/** The largest number that a line of the audit trail can have: a four-byte integer in PostgreSQL. */
export const lastAuditLine = 2 ** 31 - 1

/** A line of the audit trail that has no number yet. */
type NewEntry = Omit<AuditEntry, 'seq' | 'tenantId'> & { readonly tenantId?: string | null }

/** Actor, action and detail of an audit entry. */
export type AuditAction = Pick<AuditEntry, 'actor' | 'action' | 'detail'>

/** A line of the audit trail with the new state that gateways must learn of. */
type NewChange = NewEntry & { readonly now: EntityState }

/** The schema of a request's query for lines. */
export const auditQuerySchema = entitySchema({
  entity: Type.Optional(text('Only changes of this id', 64)),
  before: Type.Optional(
    Type.Integer({ description: 'Only lines before this position', minimum: 1, maximum: lastAuditLine })
  ),
  limit: Type.Integer({ description: 'Maximum number of lines', minimum: 1, maximum: 1000, default: 100 })
})

/**
 * Which lines of the audit trail to read, newest first: those of an organization or an entity, with a number below
 * `before`.
 */
export type AuditQuery = Readonly<Static<typeof auditQuerySchema>> & { readonly tenantId?: string }

/**
 * Runs a change in a transaction. The changes of all processes are serialized, so each sees the result of the one
 * before.
 */
export function runSerialized<T> (db: Kysely<Tables>, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
  return db.transaction().execute(async trx => {
    // Locking the row first makes numbers visible in order on PostgreSQL. On SQLite it takes the write lock before the
    // transaction reads.
    await trx.updateTable('feed').set(eb => ({ seq: eb.ref('seq') })).execute()
    return work(trx)
  })
}

/** Writes a change to the change feed and to the audit trail, within the transaction that makes it. */
export async function appendChange (trx: Transaction<Tables>, { now, ...entry }: NewChange): Promise<void> {
  const { seq } = await trx
    .updateTable('feed')
    .set(eb => ({ seq: eb('seq', '+', 1) }))
    .returning('seq')
    .executeTakeFirstOrThrow()
  const latest = { seq, payload: JSON.stringify(now.state), at: entry.at }
  await trx.insertInto('changes')
    .values({ kind: now.kind, entity: entry.entity, ...latest })
    .onConflict(conflict => conflict.columns(['kind', 'entity']).doUpdateSet(latest))
    .execute()
  await notify(trx)
  await recordAudit(trx, entry)
}

/**
 * Writes a line to the audit trail under the next number, within the transaction that makes the change. For changes
 * that gateways don't replicate.
 */
export async function recordAudit (trx: Transaction<Tables>, { tenantId, detail, ...entry }: NewEntry): Promise<void> {
  const { auditSeq: seq } = await trx
    .updateTable('feed')
    .set(eb => ({ auditSeq: eb('auditSeq', '+', 1) }))
    .returning('auditSeq')
    .executeTakeFirstOrThrow()
  await trx
    .insertInto('auditTrail')
    .values({ seq, ...entry, tenantId: tenantId ?? null, detail: JSON.stringify(detail) })
    .execute()
}

/** The changes that a replica at this position has not seen, oldest first, at most `limit` of them. */
export async function listChangesSince (db: Kysely<Tables>, position: Position, limit: number): Promise<Batch> {
  const { feedId, seq } = await db.selectFrom('feed').select(['feedId', 'seq']).executeTakeFirstOrThrow()
  const isSnapshot = position.feedId !== feedId || position.seq > seq
  const after = isSnapshot ? 0 : position.seq
  const rows = after === seq
    ? []
    : await db.selectFrom('changes').selectAll().where('seq', '>', after).orderBy('seq').limit(limit).execute()
  const isLatest = rows.length < limit
  const last = rows.at(-1)?.seq ?? after
  return {
    feedId,
    isSnapshot,
    after,
    through: isLatest ? Math.max(last, seq) : last,
    isLatest,
    changes: rows.map(toChange)
  }
}

/** Lines of the audit trail, newest first. */
export async function listAuditEntries (
  db: Kysely<Tables>,
  { tenantId, entity, before, limit }: AuditQuery
): Promise<AuditEntry[]> {
  const rows = await db
    .selectFrom('auditTrail')
    .selectAll()
    .$if(tenantId !== undefined, query => query.where('tenantId', '=', tenantId!))
    .$if(entity !== undefined, query => query.where('entity', '=', entity!))
    .$if(before !== undefined, query => query.where('seq', '<', before!))
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ tenantId, detail, ...row }) => ({
    ...row,
    tenantId: tenantId ?? undefined,
    detail: JSON.parse(detail)
  }))
}

function toChange ({ seq, kind, payload }: Tables['changes']): Change {
  return { seq, kind, state: JSON.parse(payload) }
}
