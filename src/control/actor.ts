/** What a person or program may do: operators everything, admins everything of their organization, viewers see it. */
export type Role = 'operator' | 'admin' | 'viewer'

/** Every role, the mightiest first. */
export const roles = ['operator', 'admin', 'viewer'] as const satisfies readonly Role[]

/** Who acts on the control plane; `name` is what the audit trail says, such as `member:ann@example.org` or `cli:root`. */
export type Actor =
  | { readonly name: string, readonly role: 'operator' }
  | { readonly name: string, readonly role: 'admin' | 'viewer', readonly tenantId: string }
