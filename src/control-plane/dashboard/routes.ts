/**
 * The dashboard at `/dashboard`: server-rendered pages and plain forms, which work without a script.
 *
 * - A page is declared (declared-page.ts): its path, its readers, its subject, its content, and the actions of its
 *   forms. Its organization gives operators their links. Only the pages to sign in are routes of their own.
 * - A form with text is sent to the page that shows it, so that reloading and signing in again lead back to it. It is
 *   `<PostForm csrf={csrf} …>` (forms.tsx), is read with `readField(request.body, name)` and leads, on success, to a
 *   page with a message at its top; where it is rejected, it is shown again with the reason.
 * - `request.member` is the requesting member, as stored now; `request.controlService` is the control plane with the
 *   member's permissions. Both exist below `pages`.
 * - Every error becomes a page in errors.tsx: ControlError with its own message.
 * - Text is escaped by the attribute `safe` on the element that contains it, never automatically; `npm run check` finds
 *   where it is missing.
 */
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { accountRoutes } from './account.js'
import { assetRoutes } from './assets.js'
import { buildCookies, type DashboardOptions, type DashboardContext } from './options.js'
import { sendErrorPage, sendNotFoundPage } from './errors.js'
import { invitationRoutes } from './sign-in/invitation.js'
import { oidcRoutes } from './sign-in/oidc.js'
import { pageReplies } from './page.js'
import { passwordRoutes } from './sign-in/password.js'
import { formTokens, noStore, sameSite, securityHeaders } from './security.js'
import { signedInMembers, sessions } from './session.js'
import { signInRoutes } from './sign-in/sign-in.js'
import { createSignInRateLimit, type AttemptLimits } from './sign-in/limits.js'
import { auditPages } from './audit/pages.js'
import { addPages } from './declared-page.js'
import { gatewayPages } from './gateways.js'
import { keyPages } from './keys/pages.js'
import { memberPages } from './members/pages.js'
import { organizationPages } from './organizations/pages.js'
import { home, organizationPath } from './paths.js'
import { tokenPages } from './tokens/pages.js'
import { billRoute, usagePages } from './usage/pages.js'
import { webhookPages } from './webhooks/pages.js'

/** No form of the dashboard is longer. */
const bodyBytes = 65_536

/** Everything below `/dashboard`, in the order in which a request meets it. */
export async function dashboard (
  scope: FastifyInstance,
  { prefix: _, ...options }: DashboardOptions & { readonly prefix: string }
): Promise<void> {
  const { url } = options
  await scope.register(securityHeaders, { url })
  await scope.register(assetRoutes)
  await scope.register(personalRoutes, { ...options, cookies: buildCookies(url) })
}

/** The routes for one person, or for one visitor who is not signed in yet. */
async function personalRoutes (scope: FastifyInstance, options: DashboardContext): Promise<void> {
  const { url, settings: { sessionIdleMinutes: idleMinutes, sessionHours: hours } } = options
  scope.setErrorHandler(sendErrorPage)
  await scope.register(noStore)
  await scope.register(sameSite, { url })
  await scope.register(formbody, { bodyLimit: bodyBytes })
  await scope.register(sessions, { ...options, bounds: { idleMinutes, hours } })
  await scope.register(pageReplies, options)
  const parts = { ...options, attempts: await createSignInRateLimit(scope, options.signInCounter) }
  await scope.register(visitorRoutes, parts)
  await scope.register(memberRoutes, parts)
}

interface PersonalParts extends DashboardContext { readonly attempts: AttemptLimits }

/** The routes of visitors who are not signed in yet. */
async function visitorRoutes (scope: FastifyInstance, parts: PersonalParts): Promise<void> {
  await scope.register(formTokens, { ...parts, of: 'visitors' })
  await scope.register(signInRoutes, parts)
  if (parts.settings.localAccounts) await scope.register(invitationRoutes, parts)
  if (parts.settings.oidc !== undefined) await scope.register(oidcRoutes, { ...parts, provider: parts.settings.oidc })
}

/** The pages of signed-in members; only they get 404 for a path that does not exist. */
async function memberRoutes (scope: FastifyInstance, parts: PersonalParts): Promise<void> {
  await scope.register(signedInMembers, parts)
  await scope.register(formTokens, { ...parts, of: 'members' })
  scope.setNotFoundHandler(sendNotFoundPage)
  await scope.register(accountRoutes, parts)
  if (parts.settings.localAccounts) await scope.register(passwordRoutes, parts)
  await scope.register(pageRoutes, parts)
}

/** The pages and actions of members, each by its declaration. */
async function pageRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  scope.get('/', async ({ member }, reply) =>
    reply.redirect(member.tenantId === undefined ? `${home}/organizations` : organizationPath(member.tenantId), 303)
  )
  for (const declare of [
    organizationPages,
    keyPages,
    memberPages,
    tokenPages,
    webhookPages,
    usagePages,
    auditPages,
    gatewayPages
  ]) addPages(scope, declare(parts))
  await scope.register(billRoute, parts)
}
