/**
 * The dashboard at `/dashboard`: pages made here and plain forms, which work without a script.
 *
 * - A page ends with `reply.page(title, content, { organization })`; `organization` gives operators its links.
 * - A form is `<PostForm csrf={reply.generateCsrf()} …>` (forms.tsx), is read with `field(request.body, name)` and ends, when it
 *   worked, with `reply.done(path, text)`; `orAgain` shows it again where the control plane finds it invalid or in conflict.
 * - `request.member` is who asks, as stored now; `request.desk` does for them what they may do. Both are there below `pages`.
 * - Whatever is thrown becomes a page in errors.tsx: ControlRefused with its own words.
 * - Text is escaped by the attribute `safe` on the element that holds it, never by itself; `npm run check` finds where it is missing.
 */
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { Config, Plans } from '../config.js'
import type { ControlStore } from '../control/store.js'
import { assetRoutes } from './assets.js'
import { cookiesFor, type Cookies } from './cookies.js'
import { errorPage, missingPage } from './errors.js'
import { pageReplies } from './page.js'
import { pages } from './pages.js'
import { formTokens, noStore, sameSite, securityHeaders } from './security.js'
import { members, sessions } from './session.js'

/** What the dashboard is made of; register it with the prefix `/dashboard`. */
export interface DashboardOptions {
  readonly control: ControlStore
  readonly settings: Config['dashboard']
  readonly plans: Plans
  readonly now: () => Date
  /** Where browsers find this process: its scheme decides on Secure cookies. */
  readonly url: string
  /** The secret of the dashboard's client at the OpenID provider. */
  readonly clientSecret?: string
}

/** The same with what all parts of the dashboard share. */
export interface DashboardParts extends DashboardOptions { readonly cookies: Cookies }

/** No form of the dashboard is longer. */
const bodyBytes = 65_536

export async function dashboard (scope: FastifyInstance, options: DashboardOptions): Promise<void> {
  const { control, now, url, settings: { sessionIdleMinutes: idleMinutes, sessionHours: hours } } = options
  const parts: DashboardParts = { ...options, cookies: cookiesFor(url) }
  await scope.register(securityHeaders, { url })
  await scope.register(assetRoutes)
  await scope.register(async personal => {
    personal.setErrorHandler(errorPage)
    await personal.register(noStore)
    await personal.register(sameSite, { url })
    await personal.register(formbody, { bodyLimit: bodyBytes })
    await personal.register(sessions, { control, now, cookies: parts.cookies, bounds: { idleMinutes, hours } })
    await personal.register(pageReplies, parts)
    await personal.register(forMembers, parts)
  })
}

/** The pages of those who signed in. */
async function forMembers (scope: FastifyInstance, parts: DashboardParts): Promise<void> {
  await scope.register(members, parts)
  await scope.register(formTokens, { ...parts, of: 'members' })
  scope.setNotFoundHandler(missingPage)
  await scope.register(pages, parts)
}
