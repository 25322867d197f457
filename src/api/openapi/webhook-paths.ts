import { plainTypes } from '../../envelope/body.js'
import type { FailureCode } from '../../envelope/failures.js'
import {
  commonFailures,
  header,
  inTypes,
  pageOf,
  referTo,
  responsesOf,
  withBody,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import {
  deliverySchema,
  newWebhookSchema,
  resendSchema,
  resentSchema,
  testSchema,
  webhookChangesSchema,
  webhookDraftSchema,
  webhookSchema
} from '../../events/webhooks/webhook.js'
import { parameter } from './parameters.js'

/** The tag of webhooks. */
export const webhookTag = {
  name: 'webhooks',
  description:
    'Events of your organization, sent to your URLs as they happen and signed as the [Standard Webhooks](https://www.standardwebhooks.com) specification says. The key needs the scope webhooks; it manages the webhooks of its mode, whatever records it may read. These requests do not support `Idempotency-Key`.'
}

/** What the operations of webhooks refer to. */
export const webhookSchemas: Readonly<Record<string, JsonSchema>> = {
  Webhook: webhookSchema as unknown as JsonSchema,
  NewWebhook: newWebhookSchema as unknown as JsonSchema,
  WebhookCreate: webhookDraftSchema as unknown as JsonSchema,
  WebhookChange: webhookChangesSchema as unknown as JsonSchema,
  WebhookDelivery: deliverySchema as unknown as JsonSchema,
  WebhookAction: { type: 'object', additionalProperties: false },
  WebhookResend: resendSchema as unknown as JsonSchema
}

const tags = [webhookTag.name]
const id: JsonSchema = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of the webhook.',
  schema: webhookSchema.properties.id
}
const body = (schema: unknown): JsonSchema => ({ required: true, content: inTypes(plainTypes, { schema }) })
const one = (...codes: readonly FailureCode[]): FailureCode[] => [...commonFailures, 'NOT_FOUND', ...codes]

const collection: JsonSchema = {
  get: {
    operationId: 'searchWebhooks',
    tags,
    summary: 'List webhooks',
    description: 'All webhooks of the organization and mode, oldest first, on one page.',
    responses: responsesOf({ status: 200, description: 'All webhooks.', data: pageOf(referTo('Webhook')) }, commonFailures)
  },
  post: {
    operationId: 'createWebhook',
    tags,
    summary: 'Create a webhook',
    description: 'Events from now on are sent. The secret is shown only in this response.',
    requestBody: body(referTo('WebhookCreate')),
    responses: responsesOf({
      status: 201,
      description: 'Created.',
      data: referTo('NewWebhook'),
      headers: { Location: header('Location') }
    }, [...commonFailures, ...withBody])
  }
}

const single: JsonSchema = {
  get: {
    operationId: 'readWebhook',
    tags,
    summary: 'Read a webhook',
    parameters: [id],
    responses: responsesOf({ status: 200, description: 'The webhook, without its secret.', data: referTo('Webhook') }, one())
  },
  patch: {
    operationId: 'updateWebhook',
    tags,
    summary: 'Update a webhook',
    description:
      'Changes the given fields. While a webhook is disabled, its events wait. Enabling it sends them, as far as they are retained, and those again that failed.',
    parameters: [id],
    requestBody: body(referTo('WebhookChange')),
    responses: responsesOf({ status: 200, description: 'The webhook.', data: referTo('Webhook') }, one(...withBody))
  },
  delete: {
    operationId: 'deleteWebhook',
    tags,
    summary: 'Delete a webhook',
    parameters: [id],
    responses: responsesOf({ status: 200, description: 'Deleted.', data: referTo('Deleted') }, one())
  }
}

/** The paths of webhooks. */
export const webhookPaths: Readonly<Record<string, JsonSchema>> = {
  '/v1/webhooks': collection,
  '/v1/webhooks/{id}': single,
  '/v1/webhooks/{id}/roll': {
    post: {
      operationId: 'rollWebhook',
      tags,
      summary: 'Replace the secret',
      description:
        'Send `{}`. The new secret is shown only in this response. For a day each event has two signatures, so that the receiver can change over.',
      parameters: [id],
      requestBody: body(referTo('WebhookAction')),
      responses: responsesOf(
        { status: 201, description: 'The webhook with its new secret.', data: referTo('NewWebhook') },
        one(...withBody)
      )
    }
  },
  '/v1/webhooks/{id}/test': {
    post: {
      operationId: 'testWebhook',
      tags,
      summary: 'Send a test event',
      description:
        'Send `{}`. An event of the type `webhook.test` is sent once, soon, also to a disabled webhook. The list of deliveries shows what came of it.',
      parameters: [id],
      requestBody: body(referTo('WebhookAction')),
      responses: responsesOf(
        { status: 202, description: 'It will be sent.', data: testSchema as unknown as JsonSchema },
        one(...withBody)
      )
    }
  },
  '/v1/webhooks/{id}/resend': {
    post: {
      operationId: 'resendWebhook',
      tags,
      summary: 'Send events again',
      description: 'All events since a time are sent again with the ids that they had, as far as they are retained.',
      parameters: [id],
      requestBody: body(referTo('WebhookResend')),
      responses: responsesOf(
        { status: 202, description: 'They will be sent.', data: resentSchema as unknown as JsonSchema },
        one(...withBody)
      )
    }
  },
  '/v1/webhooks/{id}/deliveries': {
    get: {
      operationId: 'searchWebhookDeliveries',
      tags,
      summary: 'List deliveries',
      description: 'Every attempt to deliver an event, newest first.',
      parameters: [id, parameter('Count'), parameter('Cursor')],
      responses: responsesOf(
        { status: 200, description: 'A page.', data: pageOf(referTo('WebhookDelivery')) },
        one('INVALID_CURSOR')
      )
    }
  }
}
