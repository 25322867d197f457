import type { CookieSerializeOptions } from '@fastify/cookie'

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
