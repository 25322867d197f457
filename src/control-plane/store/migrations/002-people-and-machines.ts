import { sql, type Kysely } from 'kysely'

/**
 * People with their sessions and invitations, tokens of programs and gateways, and the audit trail by organization.
 */
export async function up (db: Kysely<any>): Promise<void> {
  await createPeople(db)
  await createMachines(db)
  await db.schema.alterTable('organizations').addColumn('datastore', 'text').execute()
  await db.schema.alterTable('keys').addColumn('lastUsedAt', 'text').execute()
  // Lines of the audit trail have their own numbers: with those of the feed, replicas would seem to be behind after a
  // change that gateways don't replicate.
  await db.schema
    .alterTable('feed')
    .addColumn('auditSeq', 'integer', column => column.notNull().defaultTo(0))
    .execute()
  await db.updateTable('feed').set(eb => ({ auditSeq: eb.ref('seq') })).execute()
  await db.schema.alterTable('auditTrail').addColumn('tenantId', 'text').execute()
  await sql`UPDATE audit_trail SET tenant_id = COALESCE((SELECT k.tenant_id FROM keys k WHERE k.key_id = audit_trail.entity), entity)`.execute(
    db
  )
  await db.schema.createIndex('auditTrailOfTenant').on('auditTrail').columns(['tenantId', 'seq']).execute()
  await db.schema.createIndex('auditTrailOfEntity').on('auditTrail').columns(['entity', 'seq']).execute()
}

async function createPeople (db: Kysely<any>): Promise<void> {
  await db.schema.createTable('members')
    .addColumn('memberId', 'text', column => column.primaryKey())
    .addColumn('tenantId', 'text', column => column.references('organizations.tenantId'))
    .addColumn('email', 'text', column => column.notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('passwordHash', 'text')
    .addColumn('mustChangePassword', 'integer', column => column.notNull())
    .addColumn('issuer', 'text')
    .addColumn('subject', 'text')
    .addColumn('createdAt', 'text', column => column.notNull())
    .addColumn('createdBy', 'text', column => column.notNull())
    .addColumn('lastSignInAt', 'text')
    .addUniqueConstraint('membersSubject', ['issuer', 'subject'])
    .execute()
  // Not unique: one person may be a member of several organizations.
  await db.schema.createIndex('membersByEmail').on('members').column('email').execute()
  await db.schema.createIndex('membersOfTenant').on('members').column('tenantId').execute()
  await db.schema.createTable('invitations')
    .addColumn('invitationId', 'text', column => column.primaryKey())
    .addColumn('tokenHash', 'text', column => column.notNull().unique())
    .addColumn('tenantId', 'text', column => column.references('organizations.tenantId'))
    .addColumn('email', 'text', column => column.notNull())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('createdAt', 'text', column => column.notNull())
    .addColumn('createdBy', 'text', column => column.notNull())
    .addColumn('expiresAt', 'text', column => column.notNull())
    .execute()
  await db.schema.createTable('sessions')
    .addColumn('idHash', 'text', column => column.primaryKey())
    .addColumn('memberId', 'text', column => column.references('members.memberId').onDelete('cascade'))
    .addColumn('content', 'text', column => column.notNull())
    .addColumn('createdAt', 'text', column => column.notNull())
    .addColumn('seenAt', 'text', column => column.notNull())
    .addColumn('expiresAt', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('sessionsOfMember').on('sessions').column('memberId').execute()
  await db.schema.createIndex('sessionsByEnd').on('sessions').column('expiresAt').execute()
}

async function createMachines (db: Kysely<any>): Promise<void> {
  await db.schema.createTable('tokens')
    .addColumn('tokenId', 'text', column => column.primaryKey())
    .addColumn('tenantId', 'text', column => column.references('organizations.tenantId'))
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('hash', 'text', column => column.notNull().unique())
    .addColumn('hint', 'text', column => column.notNull())
    .addColumn('createdAt', 'text', column => column.notNull())
    .addColumn('createdBy', 'text', column => column.notNull())
    .addColumn('expiresAt', 'text')
    .addColumn('revokedAt', 'text')
    .execute()
  await db.schema.createTable('gateways')
    .addColumn('gatewayId', 'text', column => column.primaryKey())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('version', 'text', column => column.notNull())
    .addColumn('startedAt', 'text', column => column.notNull())
    .addColumn('seenAt', 'text', column => column.notNull())
    .addColumn('feedId', 'text', column => column.notNull())
    .addColumn('seq', 'integer', column => column.notNull())
    .addColumn('reachedAt', 'text', column => column.notNull())
    .addColumn('checks', 'text', column => column.notNull())
    .execute()
}
