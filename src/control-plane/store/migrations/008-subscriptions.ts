import type { Kysely } from 'kysely'

/**
 * Topic-based subscriptions of FHIR are receivers like webhooks, with a handshake, heartbeats and numbers of their
 * events.
 */
export async function up (db: Kysely<any>): Promise<void> {
  const webhooks = () => db.schema.alterTable('webhooks')
  await webhooks().addColumn('kind', 'text', column => column.notNull().defaultTo('webhook')).execute()
  await webhooks().addColumn('settings', 'text').execute()
  await webhooks().addColumn('awaitsHandshake', 'integer', column => column.notNull().defaultTo(0)).execute()
  await webhooks().addColumn('heartbeatAt', 'text').execute()
  await webhooks().addColumn('endsAt', 'text').execute()
  await webhooks().addColumn('eventNumber', 'bigint', column => column.notNull().defaultTo(0)).execute()
  await db.schema.alterTable('webhookRetries').addColumn('eventNumber', 'bigint').execute()
}
