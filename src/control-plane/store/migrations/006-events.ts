import type { Kysely } from 'kysely'

/** The changes of records that gateways report, and the last batch of each gateway's event log. */
export async function up (db: Kysely<any>): Promise<void> {
  await db.schema.createTable('eventSources')
    .addColumn('ledgerId', 'text', column => column.primaryKey())
    .addColumn('gateway', 'text', column => column.notNull())
    .addColumn('number', 'bigint', column => column.notNull())
    .addColumn('batchId', 'text', column => column.notNull())
    .addColumn('appliedAt', 'text', column => column.notNull())
    .execute()
  // One row, locked until its transaction ends: see EventStore.
  await db.schema.createTable('eventCounter').addColumn('sequence', 'bigint', column => column.notNull()).execute()
  await db.insertInto('eventCounter').values({ sequence: 0 }).execute()
  await db.schema.createTable('events')
    .addColumn('sequence', 'bigint', column => column.primaryKey())
    .addColumn('id', 'text', column => column.notNull().unique())
    .addColumn('organizationId', 'text', column => column.notNull())
    .addColumn('mode', 'text', column => column.notNull())
    .addColumn('type', 'text', column => column.notNull())
    .addColumn('createdAt', 'text', column => column.notNull())
    .addColumn('resourceType', 'text', column => column.notNull())
    .addColumn('resourceId', 'text', column => column.notNull())
    .addColumn('versionId', 'text')
    .addColumn('requestId', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('eventsOfScope').on('events').columns(['organizationId', 'mode', 'sequence']).execute()
  await db.schema.createIndex('eventsByAge').on('events').column('createdAt').execute()
}
