import { Type } from 'typebox'
import {
  deliveryPageSchema,
  maxDeliveries,
  newWebhookSchema,
  resendSchema,
  resentSchema,
  testSchema,
  webhookChangesSchema,
  webhookDraftSchema,
  webhookSchema
} from '../../events/webhooks/webhook.js'
import { defineOperation, type OperationTable } from './operation.js'

const strict = { additionalProperties: false }
const tenantId = Type.String({ description: 'Tenant id of the organization', maxLength: 64 })
const webhook = Type.Object({ ...webhookSchema.properties, tenantId }, strict)
const newWebhook = Type.Object({ ...newWebhookSchema.properties, tenantId }, strict)
const draft = Type.Object({ ...webhookDraftSchema.properties, mode: webhookSchema.properties.mode }, strict)
const deliveryQuery = Type.Object({
  count: Type.Integer({ description: 'The most deliveries to return', minimum: 1, maximum: maxDeliveries, default: 20 }),
  before: Type.Optional(Type.String({ description: 'Only deliveries before the one with this id', maxLength: 64 }))
}, strict)

/** The operations on webhooks. */
export const webhookOperations = {
  listWebhooks: defineOperation({
    method: 'GET',
    path: '/organizations/:tenantId/webhooks',
    summary: 'The webhooks of an organization for live and test data, oldest first, without secrets.',
    responseSchema: Type.Array(webhook),
    run: (controlService, { ids }) => controlService.listWebhooks(ids.tenantId)
  }),
  createWebhook: defineOperation({
    method: 'POST',
    path: '/organizations/:tenantId/webhooks',
    summary: 'Create a webhook. Events from now on are sent. Its secret is shown only in this response.',
    body: draft,
    responseSchema: newWebhook,
    run: (controlService, { ids, body }) => controlService.createWebhook({ ...body, tenantId: ids.tenantId })
  }),
  readWebhook: defineOperation({
    method: 'GET',
    path: '/webhooks/:webhookId',
    summary: 'One webhook, without its secret.',
    responseSchema: webhook,
    run: (controlService, { ids }) => controlService.findWebhook(ids.webhookId)
  }),
  changeWebhook: defineOperation({
    method: 'PATCH',
    path: '/webhooks/:webhookId',
    summary: 'Change the given fields. Enabling a webhook sends the events that waited.',
    body: webhookChangesSchema,
    responseSchema: webhook,
    run: (controlService, { ids, body }) => controlService.changeWebhook(ids.webhookId, body)
  }),
  deleteWebhook: defineOperation({
    method: 'DELETE',
    path: '/webhooks/:webhookId',
    summary: 'Delete a webhook with its deliveries.',
    responseSchema: Type.Object({ id: Type.String(), deleted: Type.Literal(true) }, strict),
    run: async (controlService, { ids }) => {
      await controlService.deleteWebhook(ids.webhookId)
      return { id: ids.webhookId, deleted: true as const }
    }
  }),
  rollWebhook: defineOperation({
    method: 'POST',
    path: '/webhooks/:webhookId/roll',
    summary: 'Replace the secret. The old one signs too for a day.',
    responseSchema: newWebhook,
    run: (controlService, { ids }) => controlService.rollWebhook(ids.webhookId)
  }),
  testWebhook: defineOperation({
    method: 'POST',
    path: '/webhooks/:webhookId/test',
    summary: 'Send an event of the type webhook.test once, soon.',
    responseSchema: testSchema,
    run: (controlService, { ids }) => controlService.testWebhook(ids.webhookId)
  }),
  listDeliveries: defineOperation({
    method: 'GET',
    path: '/webhooks/:webhookId/deliveries',
    summary: 'Every attempt to deliver an event, newest first.',
    query: deliveryQuery,
    responseSchema: deliveryPageSchema,
    run: (controlService, { ids, query }) => controlService.listDeliveries(ids.webhookId, query)
  }),
  resendWebhook: defineOperation({
    method: 'POST',
    path: '/webhooks/:webhookId/resend',
    summary: 'Send all events since a time again, with the ids that they had.',
    body: resendSchema,
    responseSchema: resentSchema,
    run: (controlService, { ids, body }) => controlService.resendWebhook(ids.webhookId, body.since)
  })
} satisfies OperationTable
