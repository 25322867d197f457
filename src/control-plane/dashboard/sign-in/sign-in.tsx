import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { maxEmailLength, normalizeEmail, type Member, type OpenedMember } from '../../store/members.js'
import { readField, type FormError } from '../form.js'
import type { DashboardContext } from '../options.js'
import { offerAccounts, signInByPassword } from '../session.js'
import type { AttemptLimits } from './limits.js'
import { sanitizeNextPath } from './next.js'
import { ChoicePage, SignInPage, WaitPage, type AccountChoice } from './pages.js'

/** How long a browser that a member signed in with is remembered. */
const deviceSeconds = 180 * 86_400

/** One message for every failure, so that it does not disclose which addresses have an account. */
const wrongPasswordError: FormError = { message: 'The email or password is wrong. Check both and try again.' }

interface SignInParts extends DashboardContext { readonly attempts: AttemptLimits }

/** The sign-in page, and where local accounts are in use, its form. */
export async function signInRoutes (scope: FastifyInstance, parts: SignInParts): Promise<void> {
  scope.get('/sign-in', async (request, reply) => {
    const next = sanitizeNextPath((request.query as { next?: string }).next ?? '')
    if (request.visitor !== undefined) return reply.redirect(next, 303)
    return await showForm(reply, parts, { next })
  })
  if (!parts.settings.localAccounts) return
  scope.post('/sign-in', async (request, reply) => await handlePasswordSignIn(request, reply, parts))
  scope.get('/choose-organization', async (request, reply) => await showChoices(request, reply, parts))
  scope.post('/choose-organization', async (request, reply) => await choose(request, reply, parts))
}

async function showForm (
  reply: FastifyReply,
  { settings }: DashboardContext,
  typed: { readonly next: string; readonly email?: string; readonly error?: FormError }
): Promise<FastifyReply> {
  return await reply.page(
    'Sign in',
    <SignInPage
      csrf={reply.generateCsrf()}
      hasPasswords={settings.localAccounts}
      provider={settings.oidc?.label}
      {...typed}
    />
  )
}

async function handlePasswordSignIn (
  request: FastifyRequest,
  reply: FastifyReply,
  parts: SignInParts
): Promise<FastifyReply> {
  const email = normalizeEmail(readField(request.body, 'email'))
  const password = readField(request.body, 'password')
  const next = sanitizeNextPath(readField(request.body, 'next'))
  // It would be counted under its name, and fill memory.
  if (email.length > maxEmailLength) return await showForm(reply.code(422), parts, { next, error: wrongPasswordError })
  if (email === '' || password === '') return await showForm(reply.code(422), parts, { next, email, error: wrongPasswordError })
  const found = await findMembersByPassword(request, { email, password }, parts)
  if (typeof found === 'number') return await sendTooManyAttempts(reply, found)
  if (found.length > 1) {
    await rememberDevice(reply, parts, found)
    await offerAccounts(request, found)
    return reply.redirect(`/dashboard/choose-organization?${new URLSearchParams({ next })}`, 303)
  }
  const member = found[0] && (await signInByPassword(request, parts, found[0]))
  if (member === undefined) {
    request.log.info({ reason: 'password' }, 'sign-in refused')
    return await showForm(reply.code(422), parts, { next, email, error: wrongPasswordError })
  }
  await rememberDevice(reply, parts, [member])
  return redirectSignedIn(reply, member, next)
}

/**
 * The members with this password, or the seconds to wait until it is checked. When the attempts for the account are
 * used up, a known browser still has its own attempts, but only for the members who signed in with it before: any
 * member can make a browser known with their own password.
 */
async function findMembersByPassword (
  request: FastifyRequest,
  { email, password }: { readonly email: string; readonly password: string },
  { control: { members }, attempts, cookies: { device } }: SignInParts
): Promise<OpenedMember[] | number> {
  const wait = await attempts.countForAccount(request, email)
  if (wait === undefined) return await members.findByPassword(email, password)
  const known = await members.findDevice(email, request.cookies[device] ?? '')
  if (known === undefined || (await attempts.countForBrowser(request, known.name)) !== undefined) return wait
  return await members.findByPassword(email, password, known.memberIds)
}

/** Responds to a person with too many attempts. */
export async function sendTooManyAttempts (reply: FastifyReply, seconds: number): Promise<FastifyReply> {
  return await reply
    .code(429)
    .header('retry-after', seconds)
    .page('Too many attempts', <WaitPage minutes={Math.ceil(seconds / 60)} />)
}

/** Gives the browser a token that proves, the next time, that these members signed in with it. */
export async function rememberDevice (
  reply: FastifyReply,
  { control, cookies: { device, flags } }: DashboardContext,
  members: readonly Member[]
): Promise<void> {
  reply.setCookie(device, await control.members.createDeviceToken(members.map(({ memberId }) => memberId)), {
    ...flags,
    maxAge: deviceSeconds
  })
}

function redirectSignedIn (reply: FastifyReply, { mustChangePassword }: Member, next: string): FastifyReply {
  return reply.redirect(mustChangePassword ? '/dashboard/password' : next, 303)
}

async function showChoices (
  request: FastifyRequest,
  reply: FastifyReply,
  { control }: DashboardContext
): Promise<FastifyReply> {
  const next = sanitizeNextPath((request.query as { next?: string }).next ?? '')
  const members = await Promise.all((request.session.opened ?? []).map(opened => control.members.findOpened(opened)))
  const offers: AccountChoice[] = []
  for (const member of members) {
    if (member !== undefined) {
      offers.push({
        member,
        organization: member.tenantId === undefined ? undefined : await control.organizations.find(member.tenantId)
      })
    }
  }
  if (offers.length === 0) return reply.redirect('/dashboard/sign-in', 303)
  return await reply.page(
    'Choose an organization',
    <ChoicePage csrf={reply.generateCsrf()} next={next} offers={offers} />
  )
}

async function choose (request: FastifyRequest, reply: FastifyReply, parts: DashboardContext): Promise<FastifyReply> {
  const chosen = readField(request.body, 'member')
  const opened = request.session.opened?.find(({ memberId }) => memberId === chosen)
  const member = opened && await signInByPassword(request, parts, opened)
  return member === undefined
    ? reply.redirect('/dashboard/sign-in', 303)
    : redirectSignedIn(reply, member, sanitizeNextPath(readField(request.body, 'next')))
}
