import type { Kysely } from 'kysely'

/** What gateways counted, by the hour, and how far each one's ledger was taken. */
export async function up (db: Kysely<any>): Promise<void> {
  await db.schema.createTable('usageSources')
    .addColumn('ledgerId', 'text', column => column.primaryKey())
    .addColumn('gateway', 'text', column => column.notNull())
    .addColumn('number', 'bigint', column => column.notNull())
    .addColumn('batchId', 'text', column => column.notNull())
    .addColumn('appliedAt', 'text', column => column.notNull())
    .execute()
  // The primary key begins with what every question names, so it is the index as well.
  await db.schema.createTable('usageHours')
    .addColumn('tenantId', 'text', column => column.notNull())
    .addColumn('hour', 'text', column => column.notNull())
    .addColumn('mode', 'text', column => column.notNull())
    .addColumn('keyId', 'text', column => column.notNull())
    .addColumn('resource', 'text', column => column.notNull())
    .addColumn('interaction', 'text', column => column.notNull())
    .addColumn('outcome', 'text', column => column.notNull())
    .addColumn('isCounted', 'integer', column => column.notNull())
    .addColumn('isOverage', 'integer', column => column.notNull())
    .addColumn('count', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('usageHoursPkey', ['tenantId', 'hour', 'mode', 'keyId', 'resource', 'interaction', 'outcome', 'isCounted', 'isOverage'])
    .execute()
  // What gateways need to know of each other's counts, without adding up a month each time.
  await db.schema.createTable('usageMonths')
    .addColumn('tenantId', 'text', column => column.notNull())
    .addColumn('mode', 'text', column => column.notNull())
    .addColumn('month', 'text', column => column.notNull())
    .addColumn('counted', 'bigint', column => column.notNull())
    .addColumn('overage', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('usageMonthsPkey', ['tenantId', 'mode', 'month'])
    .execute()
}
