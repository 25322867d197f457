import { roles, type Role } from '../../../config/actor.js'
import type { ProviderIdentity } from '../../store/members.js'
import type { Config } from '../../../config/schema.js'

/** How people sign in at a provider, as configured. */
export type ProviderSettings = NonNullable<Config['dashboard']['oidc']>

/** The claims of a provider about a person: https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
export type Claims = Readonly<Record<string, unknown>>

/** Why a person whom the provider authenticated gets no account; the person may read it. */
interface NotAdmitted { readonly reason: string }

/**
 * The identity of a person by the provider's claims: the most powerful of the roles that they name, and for all but
 * operators the organization.
 */
export function identityOf (
  claims: Claims,
  settings: ProviderSettings,
  issuer: string
): ProviderIdentity | NotAdmitted {
  const { sub: subject, email, name, email_verified: isVerified } = claims
  if (typeof subject !== 'string' || typeof email !== 'string') {
    return { reason: "Your organization's sign-in did not say your email address." }
  }
  if (isVerified === false) return { reason: "Your organization's sign-in has not verified your email address." }
  const role = mightiest(textsOf(claims, settings.roleClaim), settings.roles)
  if (role === undefined) return { reason: 'You were not given a role here.' }
  const person = { issuer, subject, email, name: typeof name === 'string' && name.trim() !== '' ? name : email, role }
  if (role === 'operator') return person
  const organizations = textsOf(claims, settings.organizationClaim)
  // With several, it would be ambiguous which one is meant.
  if (organizations.length !== 1) return { reason: 'You were not given to an organization here.' }
  return { ...person, tenantId: organizations[0]! }
}

/** A claim that is a text, or a list of them. */
function textsOf (claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return [value].flat().filter(text => typeof text === 'string')
}

function mightiest (names: readonly string[], roleOf: Readonly<Record<string, Role>>): Role | undefined {
  const claimedRoles = names.flatMap(name => Object.hasOwn(roleOf, name) ? [roleOf[name]!] : [])
  return roles.find(role => claimedRoles.includes(role))
}
