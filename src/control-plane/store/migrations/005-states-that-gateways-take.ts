import type { Kysely } from 'kysely'

const lastMoment = '9999-12-31T23:59:59.999Z'

/**
 * Corrects expiries after the year 9999, which make gateways reject the whole feed, and the overage of organizations:
 * the feed had it combined with what the plan offered at the time, instead of whether it was switched off.
 */
export async function up (db: Kysely<any>): Promise<void> {
  for (const table of ['keys', 'tokens']) {
    await db.updateTable(table).set({ expiresAt: lastMoment }).where('expiresAt', 'like', '+%').execute()
  }
  for (const { entity, payload } of await db
    .selectFrom('changes')
    .selectAll()
    .where('payload', 'like', '%"expiresAt":"+%')
    .execute()) {
    const mended = JSON.stringify({ ...JSON.parse(payload), expiresAt: lastMoment })
    // Under its old number, since no gateway could apply it.
    await db
      .updateTable('changes')
      .set({ payload: mended })
      .where('kind', '=', 'key')
      .where('entity', '=', entity)
      .execute()
  }
  const rows = await db
    .selectFrom('organizations')
    .innerJoin('changes', join => join.onRef('entity', '=', 'tenantId').on('kind', '=', 'organization'))
    .select(['tenantId', 'overage', 'payload'])
    .execute()
  for (const { tenantId, overage, payload } of rows) {
    const state = { ...JSON.parse(payload), overage: overage === 1 }
    if (JSON.stringify(state) !== payload) await notify(db, tenantId, state)
  }
}

async function notify (db: Kysely<any>, tenantId: string, state: object): Promise<void> {
  const { seq } = await db
    .updateTable('feed')
    .set(eb => ({ seq: eb('seq', '+', 1) }))
    .returning('seq')
    .executeTakeFirstOrThrow()
  await db
    .updateTable('changes')
    .set({ seq, payload: JSON.stringify(state) })
    .where('kind', '=', 'organization')
    .where('entity', '=', tenantId)
    .execute()
}
