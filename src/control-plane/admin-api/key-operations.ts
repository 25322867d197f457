import { Type } from 'typebox'
import { defineOperation, type OperationTable } from './operation.js'
import {
  keyChangesSchema, keyDraftSchema, keySchema, newKeySchema, overlapSchema, rolledKeySchema
} from '../store/keys.js'
import { keyPropagationSchema } from '../store/gateway-store.js'

/** The time of a text that the schema validated as ISO 8601; undefined if there is none. */
export const toDate = (text: string | undefined): Date | undefined => text === undefined ? undefined : new Date(text)

/** The operations on keys. */
export const keyOperations = {
  listKeys: defineOperation({
    method: 'GET',
    path: '/organizations/:tenantId/keys',
    summary: 'The keys of an organization, oldest first, without secrets.',
    responseSchema: Type.Array(keySchema),
    run: (controlService, { ids }) => controlService.listKeys(ids.tenantId)
  }),
  createKey: defineOperation({
    method: 'POST',
    path: '/organizations/:tenantId/keys',
    summary:
      'Create a key. Its secret is shown only in this response. The key works on every connected gateway within a second.',
    body: keyDraftSchema,
    responseSchema: newKeySchema,
    run: (controlService, { ids, body: { expiresAt, ...draft } }) =>
      controlService.createKey({ ...draft, tenantId: ids.tenantId, expiresAt: toDate(expiresAt) })
  }),
  readKey: defineOperation({
    method: 'GET',
    path: '/keys/:keyId',
    summary: 'One key, without its secret.',
    responseSchema: keySchema,
    run: (controlService, { ids }) => controlService.findKey(ids.keyId)
  }),
  changeKey: defineOperation({
    method: 'PATCH',
    path: '/keys/:keyId',
    summary: 'Change the given fields of a key that is neither expired nor revoked.',
    body: keyChangesSchema,
    responseSchema: keySchema,
    run: (controlService, { ids, body }) =>
      controlService.changeKey(ids.keyId, { name: body.name, expiresAt: toDate(body.expiresAt) })
  }),
  rollKey: defineOperation({
    method: 'POST',
    path: '/keys/:keyId/roll',
    summary: 'Create a successor of a key. The old key stays valid for the overlap.',
    body: overlapSchema,
    responseSchema: rolledKeySchema,
    run: (controlService, { ids, body }) => controlService.rollKey(ids.keyId, body.overlapSeconds * 1_000)
  }),
  revokeKey: defineOperation({
    method: 'POST',
    path: '/keys/:keyId/revoke',
    summary: 'Revoke a key immediately and permanently.',
    responseSchema: keySchema,
    run: (controlService, { ids }) => controlService.revokeKey(ids.keyId)
  }),
  readKeyReach: defineOperation({
    method: 'GET',
    path: '/keys/:keyId/propagation',
    summary: 'Which gateways have applied the latest change of a key.',
    responseSchema: keyPropagationSchema,
    run: (controlService, { ids }) => controlService.getKeyPropagation(ids.keyId)
  })
} satisfies OperationTable
