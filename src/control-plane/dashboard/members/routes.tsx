import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Role } from '../../../config/actor.js'
import { newIdempotencyToken } from '../../store/context.js'
import type { Invitation } from '../../store/members.js'
import { requireAdmin } from '../../store/permissions.js'
import type { ControlError } from '../../store/control-error.js'
import { field, redisplayOnError, statusOf, toFormError } from '../form.js'
import type { PageFacts } from '../page.js'
import { MembersPage } from './list.js'
import { NewPasswordPage, ResetPasswordPage } from './password.js'
import { RolePage, type MemberView } from './role.js'
import { listingOf } from '../listing.js'
import { mayChange, operatorsOnly, type OrganizationRequest } from '../organization-requests.js'
import { home, membersPath, signInPath, memberPath } from '../paths.js'
import type { DashboardContext } from '../options.js'
import { Heading, Secret, Time, OptionalTime } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'

const backAgain =
  'They are signed out everywhere at once, but come back with their next sign-in unless they are removed at the provider too.'

/** The confirmation page for removing a member. */
function RemovePage ({ csrf, member, isOwn }: MemberView) {
  return (
    <>
      <Heading title={`Remove ${member.name}?`} />
      <p>
        <span safe>{member.email}</span>, last sign-in: <OptionalTime at={member.lastSignInAt} otherwise='never' />
      </p>
      <p>
        {isOwn ? 'This is you. ' : ''}
        {member.isFromProvider ? backAgain : 'They are signed out everywhere at once and can’t sign in again.'} Keys
        and tokens that they created keep working, and so do open invitations: withdraw those that you do not trust.
      </p>
      <PostForm action={memberPath(member.memberId, 'remove')} csrf={csrf}>
        <SubmitButton label='Remove' cancel={membersPath(member.tenantId)} isDangerous />
      </PostForm>
    </>
  )
}

interface MemberRequest { Params: { readonly memberId: string } }

interface InvitationRequest { Params: { readonly invitationId: string } }

/** A request about the people of the organization in the path, or about operators when it names none. */
interface PeopleRequest { Params: { readonly tenantId?: string }, Querystring: OrganizationRequest['Querystring'] }

/** The pages of members and operators, and of who is invited. */
export async function memberRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  for (const people of [
    { path: '/organizations/:tenantId/members', guard: {} },
    { path: '/operators', guard: { onRequest: operatorsOnly } }
  ]) {
    scope.get<PeopleRequest>(people.path, people.guard, async (request, reply) => await showAll(request, reply, parts))
    // Where people sign in at a provider alone, it decides who may, and the link of an invitation would lead nowhere.
    if (parts.settings.localAccounts) invitationRoute(scope, parts, people)
  }
  scope.post<InvitationRequest>(
    '/invitations/:invitationId/withdraw',
    async (request, reply) => await withdraw(request, reply)
  )
  scope.get<MemberRequest>(
    '/members/:memberId/role',
    async (request, reply) => await renderConfirmation(request, reply, { title: 'Change role', page: RolePage })
  )
  scope.post<MemberRequest>('/members/:memberId/role', async (request, reply) => await changeRole(request, reply))
  scope.get<MemberRequest>(
    '/members/:memberId/remove',
    async (request, reply) => await renderConfirmation(request, reply, { title: 'Remove member', page: RemovePage })
  )
  scope.post<MemberRequest>('/members/:memberId/remove', async (request, reply) => await remove(request, reply))
  scope.get<MemberRequest>(
    '/members/:memberId/password',
    async (request, reply) =>
      await renderConfirmation(request, reply, { title: 'Reset password', page: ResetPasswordPage })
  )
  scope.post<MemberRequest>(
    '/members/:memberId/password',
    async (request, reply) => await resetPassword(request, reply)
  )
}

interface People { readonly path: string, readonly guard: { readonly onRequest?: typeof operatorsOnly } }

function invitationRoute (scope: FastifyInstance, parts: DashboardContext, { path, guard }: People): void {
  scope.post<PeopleRequest>(path, guard, async (request, reply) => {
    await factsOf(request, request.params.tenantId)
    requireAdmin(request.controlService.actor)
    return await redisplayOnError(
      () => invite(request, reply, parts),
      refusal => showAll(request, reply, { ...parts, refusal })
    )
  })
}

/** The layout's content on a page about these people; refused where the requesting member may not see them. */
async function factsOf (
  { controlService }: Pick<FastifyRequest, 'controlService'>,
  tenantId: string | undefined
): Promise<PageFacts> {
  return {
    under: membersPath(tenantId),
    ...(tenantId === undefined ? {} : { organization: await controlService.findOrganization(tenantId) })
  }
}

async function showAll (
  request: FastifyRequest<PeopleRequest>,
  reply: FastifyReply,
  { settings, refusal }: Pick<DashboardContext, 'settings'> & { readonly refusal?: ControlError }
): Promise<FastifyReply> {
  const {
    controlService,
    body,
    query,
    params: { tenantId }
  } = request
  const facts = await factsOf(request, tenantId)
  const [members, invitations] = await Promise.all([
    controlService.listMembers(tenantId),
    controlService.listInvitations(tenantId)
  ])
  const list = {
    csrf: reply.generateCsrf(),
    once: newIdempotencyToken(),
    tenantId,
    listing: listingOf(members, ({ name, email }) => [name, email], query),
    invitations,
    mayChange: mayChange(request),
    mayInvite: mayChange(request) && settings.localAccounts,
    email: field(body, 'email'),
    role: field(body, 'role') || undefined,
    error: refusal && toFormError(refusal)
  }
  if (refusal !== undefined) reply.code(statusOf(refusal))
  return await reply.page(tenantId === undefined ? 'Operators' : 'Members', <MembersPage {...list} />, facts)
}

async function invite (
  { controlService, body, params: { tenantId } }: FastifyRequest<PeopleRequest>,
  reply: FastifyReply,
  { url }: DashboardContext
): Promise<FastifyReply> {
  const { token, ...invitation } = await controlService.invite({
    tenantId,
    email: field(body, 'email'),
    role: field(body, 'role') as Role,
    once: field(body, 'once')
  })
  const link = `${url}${home}/invitations/${token}`
  return await reply
    .code(201)
    .page(
      'Invitation created',
    <InvitationPage invitation={invitation} link={link} />,
    await factsOf({ controlService }, tenantId)
    )
}

async function withdraw (
  { controlService, params }: FastifyRequest<InvitationRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { tenantId, email }: Invitation = await controlService.withdrawInvitation(params.invitationId)
  return reply.done(membersPath(tenantId), `Invitation of ${email} withdrawn.`)
}

async function changeRole (
  { controlService, params, body, member: self }: FastifyRequest<MemberRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { tenantId, name, role, memberId } = await controlService.changeMemberRole(
    params.memberId,
    field(body, 'role') as Role
  )
  if (memberId === self.memberId) return reply.done(signInPath, `You are now ${role}. Sign in again.`)
  return reply.done(membersPath(tenantId), `${name} is now ${role}.`)
}

interface Question { readonly title: string, readonly page: (request: MemberView) => JSX.Element }

/** Shows the confirmation page of an action on a member. */
async function renderConfirmation (
  { controlService, params, member: self }: FastifyRequest<MemberRequest>,
  reply: FastifyReply,
  { title, page: Page }: Question
): Promise<FastifyReply> {
  const member = await controlService.findMember(params.memberId)
  requireAdmin(controlService.actor)
  return await reply.page(
    title,
    <Page csrf={reply.generateCsrf()} member={member} isOwn={member.memberId === self.memberId} />,
    await factsOf({ controlService }, member.tenantId)
  )
}

async function remove (
  { controlService, params, member: self }: FastifyRequest<MemberRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { tenantId, name, memberId } = await controlService.removeMember(params.memberId)
  return memberId === self.memberId
    ? reply.done(signInPath, 'You are no longer a member.')
    : reply.done(membersPath(tenantId), `${name} removed.`)
}

async function resetPassword (
  { controlService, params }: FastifyRequest<MemberRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const member = await controlService.findMember(params.memberId)
  const facts = await factsOf({ controlService }, member.tenantId)
  const { password } = await controlService.resetPassword(params.memberId)
  return await reply.code(201).page('New password', <NewPasswordPage member={member} password={password} />, facts)
}

/** The page that shows the link of an invitation, once. */
function InvitationPage ({ invitation, link }: { readonly invitation: Invitation, readonly link: string }) {
  const { email, role, tenantId, expiresAt } = invitation
  return (
    <>
      <Heading title='Invitation created' />
      <p>
        Send this link to <strong safe>{email}</strong>, who will join as <strong>{role}</strong>. It works once, until{' '}
        <Time at={expiresAt} />.
      </p>
      <section class='notice notice-warning'>
        <p>
          <strong>Copy the link now.</strong> It is shown only here, only once.
        </p>
      </section>
      <Secret text={link} label='the link' />
      <p>
        <a class='button' href={membersPath(tenantId)}>
          I have copied it
        </a>
      </p>
    </>
  )
}
