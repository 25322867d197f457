import { Type } from 'typebox'
import { toDate } from './key-operations.js'
import { defineOperation, type OperationTable } from './operation.js'
import {
  invitationDraftSchema,
  invitationSchema,
  memberChangesSchema,
  memberSchema,
  newInvitationSchema,
  oneTimePasswordSchema
} from '../store/members.js'
import { newTokenSchema, tokenDraftSchema, tokenSchema } from '../store/token-store.js'

const audiences = {
  organization: { prefix: '/organizations/:tenantId', whose: 'of an organization', members: 'members', note: '' },
  operators: { prefix: '', whose: 'that belong to no organization', members: 'operators', note: ' For operators.' }
} as const

/** The same lists belong to an organization, or to none and so to the operators. */
function defineListOperations (audience: keyof typeof audiences) {
  const { prefix, whose, members, note } = audiences[audience]
  return {
    listMembers: defineOperation({
      method: 'GET',
      path: `${prefix}/${members}` as string,
      summary: `The people ${whose}, oldest first.${note}`,
      responseSchema: Type.Array(memberSchema),
      run: (controlService, { ids }) => controlService.listMembers(ids.tenantId)
    }),
    listInvitations: defineOperation({
      method: 'GET',
      path: `${prefix}/invitations` as string,
      summary: `The open invitations of people ${whose}.${note}`,
      responseSchema: Type.Array(invitationSchema),
      run: (controlService, { ids }) => controlService.listInvitations(ids.tenantId)
    }),
    invite: defineOperation({
      method: 'POST',
      path: `${prefix}/invitations` as string,
      summary: `Invite a person. You must deliver the link with the token yourself.${note}`,
      body: invitationDraftSchema,
      responseSchema: newInvitationSchema,
      run: (controlService, { ids, body }) => controlService.invite({ ...body, tenantId: ids.tenantId })
    }),
    listTokens: defineOperation({
      method: 'GET',
      path: `${prefix}/tokens` as string,
      summary: `The tokens ${whose}, oldest first, without secrets.${note}`,
      responseSchema: Type.Array(tokenSchema),
      run: (controlService, { ids }) => controlService.listTokens(ids.tenantId)
    }),
    createToken: defineOperation({
      method: 'POST',
      path: `${prefix}/tokens` as string,
      summary: `Create a token for a program${audience === 'operators' ? ' or a gateway' : ''}. Its secret is shown only in this response.${note}`,
      body: tokenDraftSchema,
      responseSchema: newTokenSchema,
      run: (controlService, { ids, body: { expiresAt, ...draft } }) =>
        controlService.createToken({ ...draft, tenantId: ids.tenantId, expiresAt: toDate(expiresAt) })
    })
  } satisfies OperationTable
}

/** The operations on the people of an organization, and on its tokens. */
export const organizationPeople = defineListOperations('organization')
/** The same on operators and on tokens that belong to no organization. */
export const operators = defineListOperations('operators')

/** The operations on people, their invitations, and tokens. */
export const peopleOperations = {
  ...organizationPeople,
  ...Object.fromEntries(Object.entries(operators).map(([id, operation]) => [`${id}OfOperators`, operation])),
  readMember: defineOperation({
    method: 'GET',
    path: '/members/:memberId',
    summary: 'One person.',
    responseSchema: memberSchema,
    run: (controlService, { ids }) => controlService.findMember(ids.memberId)
  }),
  changeMember: defineOperation({
    method: 'PATCH',
    path: '/members/:memberId',
    summary:
      "Change a person's role. This ends the person's sessions. 409 for a person from an OpenID provider, which decides about the role.",
    body: memberChangesSchema,
    responseSchema: memberSchema,
    run: (controlService, { ids, body }) => controlService.changeMemberRole(ids.memberId, body.role)
  }),
  removeMember: defineOperation({
    method: 'DELETE',
    path: '/members/:memberId',
    summary:
      "Remove a person and end that person's sessions. The last operator cannot be removed. A person from an OpenID provider comes back with the next sign-in unless removed there too.",
    responseSchema: memberSchema,
    run: (controlService, { ids }) => controlService.removeMember(ids.memberId)
  }),
  resetPassword: defineOperation({
    method: 'POST',
    path: '/members/:memberId/reset-password',
    summary: "Reset a person's password to a temporary one for the next sign-in.",
    responseSchema: oneTimePasswordSchema,
    run: (controlService, { ids }) => controlService.resetPassword(ids.memberId)
  }),
  withdrawInvitation: defineOperation({
    method: 'DELETE',
    path: '/invitations/:invitationId',
    summary: 'Withdraw an invitation.',
    responseSchema: invitationSchema,
    run: (controlService, { ids }) => controlService.withdrawInvitation(ids.invitationId)
  }),
  revokeToken: defineOperation({
    method: 'POST',
    path: '/tokens/:tokenId/revoke',
    summary: 'Revoke a token immediately and permanently.',
    responseSchema: tokenSchema,
    run: (controlService, { ids }) => controlService.revokeToken(ids.tokenId)
  })
}
