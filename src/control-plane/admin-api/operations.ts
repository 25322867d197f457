import { Type } from 'typebox'
import { keyOperations } from './key-operations.js'
import { defineOperation, type NamedOperation, type Operation, type OperationTable } from './operation.js'
import { peopleOperations } from './people-operations.js'
import { auditEntrySchema, auditQuerySchema } from '../store/change-log.js'
import { entitySchema, tenantIdSchema } from '../store/entity-schema.js'
import { memberSchema } from '../store/members.js'
import { organizationChangesSchema, organizationDraftSchema, organizationSchema } from '../store/organizations.js'
import { usageQuerySchema, usageReportSchema } from '../store/usage-totals.js'
import { billSchema } from '../store/bill.js'
import { gatewaySchema } from '../store/gateway-store.js'
import { webhookOperations } from './webhook-operations.js'

const actor = entitySchema({
  name: Type.String({ description: 'The caller, as named in the audit trail' }),
  role: memberSchema.properties.role,
  tenantId: Type.Optional(tenantIdSchema)
})

/** The operations on organizations. */
export const organizationOperations = {
  whoAmI: defineOperation({
    method: 'GET',
    path: '/me',
    summary: 'Whom the token represents.',
    responseSchema: actor,
    run: async ({ actor }) => actor
  }),
  listOrganizations: defineOperation({
    method: 'GET',
    path: '/organizations',
    summary: "All organizations for an operator, otherwise only the caller's own; oldest first.",
    responseSchema: Type.Array(organizationSchema),
    run: controlService => controlService.listOrganizations()
  }),
  createOrganization: defineOperation({
    method: 'POST',
    path: '/organizations',
    summary: 'Create an organization, which is a separate tenant. For operators.',
    body: organizationDraftSchema,
    responseSchema: organizationSchema,
    run: (controlService, { body }) => controlService.createOrganization(body)
  }),
  readOrganization: defineOperation({
    method: 'GET',
    path: '/organizations/:tenantId',
    summary: 'One organization.',
    responseSchema: organizationSchema,
    run: (controlService, { ids }) => controlService.findOrganization(ids.tenantId)
  }),
  changeOrganization: defineOperation({
    method: 'PATCH',
    path: '/organizations/:tenantId',
    summary:
      'Change the given fields. An admin of the organization can change only overage; an operator can change all.',
    body: organizationChangesSchema,
    responseSchema: organizationSchema,
    run: (controlService, { ids, body }) => controlService.changeOrganization(ids.tenantId, body)
  })
} satisfies OperationTable

/** The operations that read what was recorded: the audit trail, usage, bills, and the state of gateways. */
export const recordOperations = {
  listAuditTrail: defineOperation({
    method: 'GET',
    path: '/organizations/:tenantId/audit',
    summary: 'Who did what and when in an organization, newest first.',
    query: auditQuerySchema,
    responseSchema: Type.Array(auditEntrySchema),
    run: (controlService, { ids, query }) => controlService.listAuditEntries({ tenantId: ids.tenantId, ...query })
  }),
  listWholeAuditTrail: defineOperation({
    method: 'GET',
    path: '/audit',
    summary: 'Who did what and when anywhere, newest first. For operators.',
    query: auditQuerySchema,
    responseSchema: Type.Array(auditEntrySchema),
    run: (controlService, { query }) => controlService.listAuditEntries(query)
  }),
  readUsage: defineOperation({
    method: 'GET',
    path: '/organizations/:tenantId/usage',
    summary: 'Usage of an organization by hour, day or month, optionally grouped by key, resource or interaction.',
    query: usageQuerySchema,
    responseSchema: usageReportSchema,
    run: (controlService, { ids, query: { from, to, ...question } }) =>
      controlService.getUsage({ ...question, tenantId: ids.tenantId, from: new Date(from), to: new Date(to) })
  }),
  readBill: defineOperation({
    method: 'GET',
    path: '/organizations/:tenantId/bills/:month',
    summary: 'The bill of an organization for a month such as 2030-01, by hour.',
    responseSchema: billSchema,
    run: (controlService, { ids }) => controlService.getBill(ids.tenantId, ids.month)
  }),
  listGateways: defineOperation({
    method: 'GET',
    path: '/gateways',
    summary: 'All gateways with their last reported state. For operators.',
    responseSchema: Type.Array(gatewaySchema),
    run: controlService => controlService.listGateways()
  })
} satisfies OperationTable

/** Everything that the management API can do. */
export const operations: readonly NamedOperation[] = [
  organizationOperations,
  keyOperations,
  peopleOperations,
  webhookOperations,
  recordOperations
].flatMap(table => Object.entries<Operation>(table).map(([id, operation]) => ({ id, ...operation })))
