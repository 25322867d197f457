import * as oidc from 'openid-client'
import { roles, type Role } from '../../../config/actor.js'
import type { ProviderIdentity } from '../../store/members.js'
import type { Config } from '../../../config/schema.js'

/** The state that a browser stores between the redirect to the provider and the return. */
export interface AuthorizationRequest {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Where it is led in the end. */
  readonly next: string
}

interface ProviderOptions {
  readonly settings: ProviderSettings
  readonly clientSecret: string | undefined
  /** Where the provider sends browsers back to. */
  readonly callbackUrl: string
}

/** Timeout of one response of the provider. */
const timeoutSeconds = 10

/**
 * One OpenID provider: the code flow with PKCE, state and nonce. Its metadata is requested at the first sign-in, and
 * again after a failure, so that an unavailable provider prevents neither the start nor other ways to sign in.
 */
export class Provider {
  readonly #options: ProviderOptions
  #discovery: Promise<oidc.Configuration> | undefined

  constructor (options: ProviderOptions) {
    this.#options = options
  }

  /** The URL to send a browser to, and the state that it must store. */
  async begin (next: string): Promise<{ readonly url: URL, readonly authorizationRequest: AuthorizationRequest }> {
    const configuration = await this.#getConfiguration()
    const authorizationRequest = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
      next
    }
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#options.callbackUrl,
      scope: this.#options.settings.scope,
      state: authorizationRequest.state,
      nonce: authorizationRequest.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(authorizationRequest.verifier),
      code_challenge_method: 'S256'
    })
    return { url, authorizationRequest }
  }

  /**
   * The provider's claims about the person of a returning browser; `query` is that of the return. @throws if any part
   * of it is invalid
   */
  async finish (query: string, { state, nonce, verifier }: AuthorizationRequest): Promise<Claims> {
    const configuration = await this.#getConfiguration()
    const url = new URL(this.#options.callbackUrl)
    url.search = query
    const tokens = await oidc.authorizationCodeGrant(configuration, url, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true
    })
    const claims = tokens.claims()!
    if (configuration.serverMetadata().userinfo_endpoint === undefined || this.#hasAllClaims(claims)) return claims
    return { ...await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub), ...claims }
  }

  /** Many providers put only the identity into the ID token, and the rest behind their UserInfo endpoint. */
  #hasAllClaims (claims: Claims): boolean {
    return ['email', this.#options.settings.roleClaim].every(name => Object.hasOwn(claims, name))
  }

  #getConfiguration (): Promise<oidc.Configuration> {
    this.#discovery ??= this.#discover().catch(error => {
      this.#discovery = undefined
      throw error
    })
    return this.#discovery
  }

  async #discover (): Promise<oidc.Configuration> {
    const { settings: { issuer, clientId }, clientSecret } = this.#options
    const server = new URL(issuer)
    const execute = [oidc.enableNonRepudiationChecks, ...(isLoopback(server) ? [oidc.allowInsecureRequests] : [])]
    return await oidc.discovery(server, clientId, undefined, createClientAuth(clientSecret), {
      execute,
      timeout: timeoutSeconds
    })
  }
}

/** The authentication method that the server supports, `client_secret_basic` if it names none: RFC 8414, section 2. */
function createClientAuth (secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None()
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)]
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
}

/** On loopback no other host can listen or respond even without TLS, so that trying out needs no certificate. */
function isLoopback ({ protocol, hostname }: URL): boolean {
  return (
    protocol === 'http:' && (hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname))
  )
}

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
export function resolveProviderIdentity (
  claims: Claims,
  settings: ProviderSettings,
  issuer: string
): ProviderIdentity | NotAdmitted {
  const { sub: subject, email, name, email_verified: isVerified } = claims
  if (typeof subject !== 'string' || typeof email !== 'string') {
    return { reason: "Your organization's sign-in did not say your email address." }
  }
  if (isVerified === false) return { reason: "Your organization's sign-in has not verified your email address." }
  const role = findHighestRole(getClaimTexts(claims, settings.roleClaim), settings.roles)
  if (role === undefined) return { reason: 'You were not given a role here.' }
  const person = { issuer, subject, email, name: typeof name === 'string' && name.trim() !== '' ? name : email, role }
  if (role === 'operator') return person
  const organizations = getClaimTexts(claims, settings.organizationClaim)
  // With several, it would be ambiguous which one is meant.
  if (organizations.length !== 1) return { reason: 'You were not given to an organization here.' }
  return { ...person, tenantId: organizations[0]! }
}

/** A claim that is a text, or a list of them. */
function getClaimTexts (claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return [value].flat().filter(text => typeof text === 'string')
}

function findHighestRole (names: readonly string[], roleByClaim: Readonly<Record<string, Role>>): Role | undefined {
  const claimedRoles = names.flatMap(name => Object.hasOwn(roleByClaim, name) ? [roleByClaim[name]!] : [])
  return roles.find(role => claimedRoles.includes(role))
}
