import { Type } from 'typebox'
import { dateOf } from './key-operations.js'
import { operation, type Operation } from './operation.js'
import * as schemas from './schemas.js'

/** The same three lists belong to an organization, or to none and so to the operators. */
const forAudience = (audience: 'organization' | 'operators') =>
  audience === 'organization'
    ? { prefix: '/organizations/:tenantId', suffix: '', whose: 'of an organization', members: 'members', note: '' }
    : {
        prefix: '',
        suffix: 'OfOperators',
        whose: 'that belong to no organization',
        members: 'operators',
        note: ' For operators.'
      }

function listsOf (audience: 'organization' | 'operators'): readonly Operation[] {
  const { prefix, suffix, whose, members, note } = forAudience(audience)
  return [
    operation({
      id: `listMembers${suffix}`,
      method: 'GET',
      path: `${prefix}/${members}`,
      summary: `The people ${whose}, oldest first.${note}`,
      responseSchema: Type.Array(schemas.member),
      run: (controlService, { ids }) => controlService.listMembers(ids.tenantId)
    }),
    operation({
      id: `listInvitations${suffix}`,
      method: 'GET',
      path: `${prefix}/invitations`,
      summary: `The open invitations of people ${whose}.${note}`,
      responseSchema: Type.Array(schemas.invitation),
      run: (controlService, { ids }) => controlService.listInvitations(ids.tenantId)
    }),
    operation({
      id: `invite${suffix}`,
      method: 'POST',
      path: `${prefix}/invitations`,
      summary: `Invite a person. You must deliver the link with the token yourself.${note}`,
      body: schemas.invitationDraft,
      responseSchema: schemas.newInvitation,
      run: (controlService, { ids, body }) => controlService.invite({ ...body, tenantId: ids.tenantId })
    }),
    operation({
      id: `listTokens${suffix}`,
      method: 'GET',
      path: `${prefix}/tokens`,
      summary: `The tokens ${whose}, oldest first, without secrets.${note}`,
      responseSchema: Type.Array(schemas.token),
      run: (controlService, { ids }) => controlService.listTokens(ids.tenantId)
    }),
    operation({
      id: `createToken${suffix}`,
      method: 'POST',
      path: `${prefix}/tokens`,
      summary: `Create a token for a program${audience === 'operators' ? ' or a gateway' : ''}. Its secret is shown only in this response.${note}`,
      body: schemas.tokenDraft,
      responseSchema: schemas.newToken,
      run: (controlService, { ids, body: { expiresAt, ...draft } }) =>
        controlService.createToken({ ...draft, tenantId: ids.tenantId, expiresAt: dateOf(expiresAt) })
    })
  ]
}

/** The operations on people, their invitations, and tokens. */
export const peopleOperations: readonly Operation[] = [
  ...listsOf('organization'),
  ...listsOf('operators'),
  operation({
    id: 'readMember',
    method: 'GET',
    path: '/members/:memberId',
    summary: 'One person.',
    responseSchema: schemas.member,
    run: (controlService, { ids }) => controlService.findMember(ids.memberId!)
  }),
  operation({
    id: 'changeMember',
    method: 'PATCH',
    path: '/members/:memberId',
    summary:
      "Change a person's role. This ends the person's sessions. 409 for a person from an OpenID provider, which decides about the role.",
    body: schemas.memberChanges,
    responseSchema: schemas.member,
    run: (controlService, { ids, body }) => controlService.changeMemberRole(ids.memberId!, body.role)
  }),
  operation({
    id: 'removeMember',
    method: 'DELETE',
    path: '/members/:memberId',
    summary:
      "Remove a person and end that person's sessions. The last operator cannot be removed. A person from an OpenID provider comes back with the next sign-in unless removed there too.",
    responseSchema: schemas.member,
    run: (controlService, { ids }) => controlService.removeMember(ids.memberId!)
  }),
  operation({
    id: 'resetPassword',
    method: 'POST',
    path: '/members/:memberId/reset-password',
    summary: "Reset a person's password to a temporary one for the next sign-in.",
    responseSchema: schemas.oneTimePassword,
    run: (controlService, { ids }) => controlService.resetPassword(ids.memberId!)
  }),
  operation({
    id: 'withdrawInvitation',
    method: 'DELETE',
    path: '/invitations/:invitationId',
    summary: 'Withdraw an invitation.',
    responseSchema: schemas.invitation,
    run: (controlService, { ids }) => controlService.withdrawInvitation(ids.invitationId!)
  }),
  operation({
    id: 'revokeToken',
    method: 'POST',
    path: '/tokens/:tokenId/revoke',
    summary: 'Revoke a token immediately and permanently.',
    responseSchema: schemas.token,
    run: (controlService, { ids }) => controlService.revokeToken(ids.tokenId!)
  })
]
