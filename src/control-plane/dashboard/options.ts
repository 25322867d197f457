import type { CookieSerializeOptions } from '@fastify/cookie'
import type { RateLimitStoreClass } from '../../limits/limiter.js'
import type { Config, Plans } from '../../config/schema.js'
import type { ControlStore } from '../store/store.js'

/** The dashboard's dependencies; register it with the prefix `/dashboard`. */
export interface DashboardOptions {
  readonly control: ControlStore
  readonly settings: Config['dashboard']
  readonly plans: Plans
  /** Which datastores keys open, as far as this process is configured like the gateways. */
  readonly routing: Config['routing']
  /** Where applications find a gateway, for the lines that are shown with a key. */
  readonly gatewayUrl: string
  readonly now: () => Date
  /** Where browsers find this process: its scheme decides on Secure cookies. */
  readonly url: string
  /** The secret of the dashboard's client at the OpenID provider. */
  readonly clientSecret?: string
  /** Counts attempts to sign in for all processes of the port; absent if there is one. */
  readonly signInCounter?: RateLimitStoreClass
}

/** The same with the cookies, which all parts of the dashboard share. */
export interface DashboardContext extends DashboardOptions { readonly cookies: Cookies }

/** Names and flags of the dashboard's cookies. */
export interface Cookies {
  /** The session of a signed-in member. */
  readonly session: string
  /** The secret behind the tokens in the forms of a visitor who has not signed in. */
  readonly form: string
  /** The message that the next page shows. */
  readonly notice: string
  /** Proves that a member has signed in with this browser before. */
  readonly device: string
  /** The state that a sign-in at the OpenID provider must return with. */
  readonly provider: string
  readonly flags: CookieSerializeOptions
}

/** Over https, browsers accept `__Host-` cookies from this exact host only, and send them to no other. */
export function buildCookies (url: string): Cookies {
  const secure = url.startsWith('https:')
  const toCookieName = (name: string): string => `${secure ? '__Host-' : ''}clinigate-${name}`
  return {
    session: toCookieName('session'),
    form: toCookieName('form'),
    notice: toCookieName('notice'),
    device: toCookieName('device'),
    provider: toCookieName('provider'),
    flags: { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }
}
