import type { CookieSerializeOptions } from '@fastify/cookie'

/** Names and flags of the dashboard's cookies. */
export interface Cookies {
  /** The session of somebody who signed in. */
  readonly session: string
  /** The secret behind the tokens in the forms of a visitor who has not signed in. */
  readonly form: string
  /** What the next page says was done. */
  readonly notice: string
  /** Shows that somebody has signed in with this browser before. */
  readonly device: string
  /** What a sign-in at the OpenID provider must come back with. */
  readonly provider: string
  readonly flags: CookieSerializeOptions
}

/** Over https, browsers take `__Host-` cookies from this very host alone, and send them nowhere else. */
export function cookiesFor (url: string): Cookies {
  const secure = url.startsWith('https:')
  const named = (name: string): string => `${secure ? '__Host-' : ''}clinigate-${name}`
  return {
    session: named('session'),
    form: named('form'),
    notice: named('notice'),
    device: named('device'),
    provider: named('provider'),
    flags: { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }
}
