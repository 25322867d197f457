import type { Kysely } from 'kysely'

/** The usage that gateways report, by hour, and the last batch of each gateway's ledger. */
export async function up (db: Kysely<any>): Promise<void> {
  await db.schema.createTable('usageSources')
    .addColumn('ledgerId', 'text', column => column.primaryKey())
    .addColumn('gateway', 'text', column => column.notNull())
    .addColumn('number', 'bigint', column => column.notNull())
    .addColumn('batchId', 'text', column => column.notNull())
    .addColumn('appliedAt', 'text', column => column.notNull())
    .execute()
  // The primary key starts with the columns of every query, so it is also the index.
  await db.schema
    .createTable('usageHours')
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
    .addPrimaryKeyConstraint('usageHoursPkey', [
      'tenantId',
      'hour',
      'mode',
      'keyId',
      'resource',
      'interaction',
      'outcome',
      'isCounted',
      'isOverage'
    ])
    .execute()
  // For the gateways to learn each other's counts without summing a month each time.
  await db.schema.createTable('usageMonths')
    .addColumn('tenantId', 'text', column => column.notNull())
    .addColumn('mode', 'text', column => column.notNull())
    .addColumn('month', 'text', column => column.notNull())
    .addColumn('counted', 'bigint', column => column.notNull())
    .addColumn('overage', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('usageMonthsPkey', ['tenantId', 'mode', 'month'])
    .execute()
}
