/**
 * The roles of a person or program in the control plane, the most powerful first: operators may do everything, admins
 * everything in their organization, viewers may read it.
 */
export const roles = ['operator', 'admin', 'viewer'] as const
export type Role = typeof roles[number]

/**
 * The actor of a change in the control plane; `name` is its name in the audit trail, such as `member:ann@example.org
 * (mem-…)` or `cli:root`.
 */
export type Actor =
  | { readonly name: string, readonly role: 'operator' }
  | { readonly name: string, readonly role: Exclude<Role, 'operator'>, readonly tenantId: string }
