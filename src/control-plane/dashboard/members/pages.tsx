import type { Role } from '../../../config/actor.js'
import type { Invitation, Member } from '../../store/members.js'
import { Heading, OptionalTime, ShownOnce, Time } from '../components.js'
import {
  fetchPageFacts, createOptionalOrganizationBase, definePage, type DeclaredPage, type PageRequest, type PageView
} from '../declared-page.js'
import { readField } from '../form.js'
import { PostForm, SubmitButton } from '../forms.js'
import { paginate } from '../listing.js'
import type { DashboardContext } from '../options.js'
import type { PageFacts } from '../page.js'
import { home, memberPath, membersPath, signInPath } from '../paths.js'
import { MembersPage } from './list.js'
import { NewPasswordPage, ResetPasswordPage, RolePage, type MemberView } from './changes.js'

/** The pages of members and operators, and of invitations. */
export const memberPages = (parts: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  peoplePage({ path: '/organizations/:tenantId/members', title: 'Members' }, parts),
  peoplePage({ path: '/operators', role: 'operator', title: 'Operators' }, parts),
  definePage({
    path: '/invitations/:invitationId/withdraw',
    actions: [{
      // The control service finds the invitation first: one of another organization is missing, also for viewers.
      role: 'member',
      run: async ({ controlService, params }) => {
        const { tenantId, email }: Invitation = await controlService.withdrawInvitation(params.invitationId)
        return { to: membersPath(tenantId), message: `Invitation of ${email} withdrawn.` }
      }
    }]
  }),
  ...memberChangePages
]

/** The people of an organization, or the operators. */
function peoplePage (
  declared: Pick<DeclaredPage<any>, 'path' | 'role' | 'title'>,
  { settings, url }: DashboardContext
): DeclaredPage<any> {
  const either = createOptionalOrganizationBase(membersPath)
  return definePage({
    ...either,
    ...declared,
    show: async ({ subject: organization, request, csrf, once, mayChange, typed, error }) => {
      const { controlService, query } = request
      const tenantId = organization?.tenantId
      const [members, invitations] = await Promise.all([
        controlService.listMembers(tenantId),
        controlService.listInvitations(tenantId)
      ])
      return (
        <MembersPage
          csrf={csrf}
          once={once}
          tenantId={tenantId}
          listing={paginate(members, ({ name, email }) => [name, email], query)}
          invitations={invitations}
          mayChange={mayChange}
          mayInvite={mayChange && settings.localAccounts}
          email={typed?.('email')}
          role={typed?.('role') || undefined}
          error={error}
        />
      )
    },
    // Where people sign in only at a provider, it decides who may, and the link of an invitation would lead nowhere.
    actions: !settings.localAccounts
      ? []
      : [{
          redisplayOn: 'invalid or conflict',
          run: async ({ controlService, body }, organization) => {
            const { token, ...invitation } = await controlService.invite({
              tenantId: organization?.tenantId,
              email: readField(body, 'email'),
              role: readField(body, 'role') as Role,
              once: readField(body, 'once')
            })
            const content = <InvitationPage invitation={invitation} link={`${url}${home}/invitations/${token}`} />
            return { title: 'Invitation created', content, facts: either.facts(organization) }
          }
        }]
  })
}

/** The common parts of the pages about a member. */
const memberPageBase = {
  role: 'admin',
  load: ({ controlService, params }: PageRequest): Promise<Member> => controlService.findMember(params.memberId),
  facts: ({ tenantId }: Member, request: PageRequest): Promise<PageFacts> =>
    fetchPageFacts(membersPath(tenantId), tenantId, request)
} as const

const toMemberView = ({ csrf, subject, request }: PageView<Member>): MemberView =>
  ({ csrf, member: subject, isOwn: subject.memberId === request.member.memberId })

const memberChangePages: ReadonlyArray<DeclaredPage<any>> = [
  definePage({
    ...memberPageBase,
    path: '/members/:memberId/role',
    title: 'Change role',
    show: view => <RolePage {...toMemberView(view)} />,
    actions: [{
      run: async ({ controlService, body, member: self }, { memberId }) => {
        const { tenantId, name, role } = await controlService.changeMemberRole(memberId, readField(body, 'role') as Role)
        return memberId === self.memberId
          ? { to: signInPath, message: `You are now ${role}. Sign in again.` }
          : { to: membersPath(tenantId), message: `${name} is now ${role}.` }
      }
    }]
  }),
  definePage({
    ...memberPageBase,
    path: '/members/:memberId/remove',
    title: 'Remove member',
    show: view => <RemovePage {...toMemberView(view)} />,
    actions: [{
      run: async ({ controlService, member: self }, { memberId }) => {
        const { tenantId, name } = await controlService.removeMember(memberId)
        return memberId === self.memberId
          ? { to: signInPath, message: 'You are no longer a member.' }
          : { to: membersPath(tenantId), message: `${name} removed.` }
      }
    }]
  }),
  definePage({
    ...memberPageBase,
    path: '/members/:memberId/password',
    title: 'Reset password',
    show: view => <ResetPasswordPage {...toMemberView(view)} />,
    actions: [{
      run: async (request, member) => {
        const { password } = await request.controlService.resetPassword(member.memberId)
        const content = <NewPasswordPage member={member} password={password} />
        return { title: 'New password', content, facts: await memberPageBase.facts(member, request) }
      }
    }]
  })
]

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
      <ShownOnce text={link} label='the link' next={membersPath(tenantId)} />
    </>
  )
}
