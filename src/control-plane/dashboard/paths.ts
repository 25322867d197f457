/** Where the dashboard begins. */
export const home = '/dashboard'

const segment = encodeURIComponent

/** Where people sign in. */
export const signInPath = `${home}/sign-in`

/** Where the form to sign out is sent. */
export const signOutPath = `${home}/sign-out`

/** The pages of the member's own account. */
export const accountPath = (page = ''): string => `${home}/account${page && `/${page}`}`

/** The pages of an organization. */
export const organizationPath = (tenantId: string, page = ''): string =>
  `${home}/organizations/${segment(tenantId)}${page && `/${page}`}`

/** The pages of a key. */
export const keyPath = (keyId: string, page = ''): string => `${home}/keys/${segment(keyId)}${page && `/${page}`}`

/** The pages of a member. */
export const memberPath = (memberId: string, page: string): string => `${home}/members/${segment(memberId)}/${page}`

/** The pages of a token. */
export const tokenPath = (tokenId: string, page: string): string => `${home}/tokens/${segment(tokenId)}/${page}`

/** The pages of a webhook. */
export const webhookPath = (webhookId: string, page = ''): string =>
  `${home}/webhooks/${segment(webhookId)}${page && `/${page}`}`

/** The deeds on an invitation. */
export const invitationPath = (invitationId: string, page: string): string =>
  `${home}/invitations/${segment(invitationId)}/${page}`

/** The members of an organization, or the operators. */
export const membersPath = (tenantId: string | undefined): string =>
  tenantId === undefined ? `${home}/operators` : organizationPath(tenantId, 'members')

/** The tokens of an organization, or those of operators and gateways. */
export const tokensPath = (tenantId: string | undefined): string =>
  tenantId === undefined ? `${home}/tokens` : organizationPath(tenantId, 'tokens')

/** The audit trail of an organization, or of everything; about one entity when it is named. */
export function auditPath (
  tenantId: string | undefined,
  filter: { readonly entity?: string; readonly before?: number } = {}
): string {
  const path = tenantId === undefined ? `${home}/audit` : organizationPath(tenantId, 'audit')
  const query = new URLSearchParams()
  if (filter.entity !== undefined) query.set('entity', filter.entity)
  if (filter.before !== undefined) query.set('before', String(filter.before))
  return query.size === 0 ? path : `${path}?${query}`
}
