/**
 * What a person or program may do on the control plane, the mightiest first: operators everything, admins everything of
 * their organization, viewers see it.
 */
export const roles = ['operator', 'admin', 'viewer'] as const
export type Role = typeof roles[number]

/**
 * Who acts on the control plane; `name` is what the audit trail says, such as `member:ann@example.org (mem-…)` or
 * `cli:root`.
 */
export type Actor =
  | { readonly name: string, readonly role: 'operator' }
  | { readonly name: string, readonly role: Exclude<Role, 'operator'>, readonly tenantId: string }
