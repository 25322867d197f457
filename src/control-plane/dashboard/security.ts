import csrf from '@fastify/csrf-protection'
import helmet from '@fastify/helmet'
import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../../envelope/failures.js'
import type { Cookies } from './options.js'
import { readField } from './form.js'

const policy = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'form-action': ["'self'"],
  'frame-ancestors': ["'none'"],
  'base-uri': ["'none'"]
}

/**
 * Headers that leave a browser nothing to run but our own script, and nowhere to send a form but here. `url` is the
 * dashboard's own.
 */
export const securityHeaders = fp<{ readonly url: string }>(async (app, { url }) => {
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: policy },
    strictTransportSecurity: url.startsWith('https:') ? { maxAge: 31_536_000, includeSubDomains: false } : false,
    // Sends nothing to other hosts; with `no-referrer`, browsers would also hide from the dashboard where a form comes
    // from.
    referrerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' }
  })
}, { name: 'dashboard-security-headers', fastify: '5.x' })

/** The same for a page that is sent before they are set, as far as it needs them. */
export const unstyledPageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': Object.entries(policy).map(([name, values]) => [name, ...values].join(' ')).join(';'),
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store'
}

/** Prevents caching of responses that are for one person. */
export const noStore = fp(async app => {
  app.addHook('onRequest', async (_, reply) => { reply.header('cache-control', 'no-store') })
}, { name: 'dashboard-no-store', fastify: '5.x' })

/** Refuses requests that another site makes a browser send. `url` is the dashboard's own URL, if it is known. */
export const sameSite = fp<{ readonly url: string }>(async (app, { url }) => {
  const own = new URL(url).host
  app.addHook('onRequest', async request => {
    if (isSafe(request) || isSameOrigin(request, own)) return
    throw new Failure('INSUFFICIENT_SCOPE', {
      message: 'This form was sent by another site. Open the dashboard itself and try again.'
    })
  })
}, { name: 'dashboard-same-site', fastify: '5.x' })

/**
 * Requires the token of the session in each form; for `visitors` the token is in a cookie instead, so that no session
 * is stored for them.
 */
export const formTokens = fp<{ readonly cookies: Cookies; readonly of: 'members' | 'visitors' }>(
  async (app, { cookies, of }) => {
    const getToken = ({ body }: FastifyRequest) => readField(body, '_csrf')
    if (of === 'members') await app.register(csrf, { sessionPlugin: '@fastify/session', getToken })
    else {
      await app.register(csrf, {
        sessionPlugin: '@fastify/cookie',
        getToken,
        cookieKey: cookies.form,
        cookieOpts: cookies.flags
      })
    }
    requireTokens(app)
  },
  { name: 'dashboard-form-tokens', dependencies: ['dashboard-sessions'], fastify: '5.x' }
)

function requireTokens (app: FastifyInstance): void {
  app.addHook('preValidation', (request, reply, done) => {
    if (isSafe(request)) done()
    else app.csrfProtection(request, reply, done)
  })
}

const isSafe = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

/**
 * Browsers send it in Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/), older ones in Origin; programs send
 * neither, and have no member's cookies.
 */
function isSameOrigin ({ headers }: FastifyRequest, own: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const { origin } = headers
  if (origin === undefined) return true
  return URL.canParse(origin) && [own, headers.host].includes(new URL(origin).host)
}
