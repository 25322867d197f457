import type { Role } from '../../../config/actor.js'
import type { Invitation, Member } from '../../store/members.js'
import { Badge, Empty, Heading, Links, Table, Time, OptionalTime, ErrorNotice, type Columns } from '../components.js'
import type { FormError } from '../form.js'
import { EmailField, PostForm, RadioField, SubmitButton, type RadioOption } from '../forms.js'
import { getOtherRole } from './changes.js'
import { PaginatedList, type ListOptions } from '../listing.js'
import { invitationPath, memberPath, membersPath } from '../paths.js'

/** The content of the page of an organization's members, or of the operators. */
interface MemberList {
  readonly csrf: string
  readonly once: string
  /** Undefined for operators. */
  readonly tenantId: string | undefined
  readonly listing: ListOptions<Member>
  readonly invitations: readonly Invitation[]
  readonly mayChange: boolean
  /** Not where people sign in only at a provider: the provider decides who may sign in. */
  readonly mayInvite: boolean
  /** The email from the previous submission. */
  readonly email?: string
  readonly role?: string
  readonly error?: FormError
}

/** The members of an organization, or the operators, and the open invitations. */
export function MembersPage (list: MemberList) {
  const { tenantId, listing, invitations, mayInvite, error } = list
  const path = membersPath(tenantId)
  const about =
    tenantId === undefined ? 'Operators manage all organizations.' : 'People who may sign in for this organization.'
  return (
    <>
      <Heading title={tenantId === undefined ? 'Operators' : 'Members'} about={about}>
        {mayInvite && listing.found > 0
          ? <a class='button button-primary' href='#invite'>Invite</a>
          : ''}
      </Heading>
      <ErrorNotice error={error} />
      <PaginatedList
        listing={listing}
        path={path}
        what='Name or email address'
        empty={<NoMembers mayInvite={mayInvite} />}
      >
        <Table label='Members' columns={buildMemberColumns(list)} rows={listing.rows} />
      </PaginatedList>
      {invitations.length === 0 ? '' : <Invitations {...list} />}
      {mayInvite ? <InvitationForm {...list} /> : ''}
    </>
  )
}

function NoMembers ({ mayInvite }: Pick<MemberList, 'mayInvite'>) {
  return (
    <Empty title='No members yet'>
      <p>
        {mayInvite
          ? 'Invite the first person below. You get a link to send to them.'
          : 'People appear here after they first signed in.'}
      </p>
    </Empty>
  )
}

/** The permissions of each role, in short. */
const roleTexts: Readonly<Record<Role, string>> = {
  operator: 'manages all organizations',
  admin: 'manages keys, people and tokens',
  viewer: 'sees everything, changes nothing'
}

const buildMemberColumns = ({ tenantId, mayChange }: MemberList): Columns<Member> => [
  { name: 'Name', cell: ({ name }) => <span safe>{name}</span> },
  { name: 'Email', kind: 'long', cell: ({ email }) => <span safe>{email}</span> },
  { name: 'Role', cell: ({ role }) => <Badge tone='neutral' text={role} /> },
  { name: 'Last sign-in', cell: ({ lastSignInAt }) => <OptionalTime at={lastSignInAt} otherwise='never' /> },
  { name: 'Member since', cell: ({ createdAt }) => <Time at={createdAt} /> },
  mayChange && { name: 'Actions', cell: member => <MemberActions tenantId={tenantId} member={member} /> }
]

function MemberActions ({ tenantId, member }: { readonly tenantId: string | undefined, readonly member: Member }) {
  const { memberId, name, isFromProvider } = member
  const other = getOtherRole(member)
  return (
    <Links>
      {tenantId === undefined || isFromProvider
        ? ''
        : (
          <a href={memberPath(memberId, 'role')} aria-label={`Make ${other}: ${name}`} safe>{`Make ${other}`}</a>
          )}
      {isFromProvider
        ? ''
        : (
          <a href={memberPath(memberId, 'password')} aria-label={`Reset password of ${name}`}>
            Reset password
          </a>
          )}
      <a href={memberPath(memberId, 'remove')} aria-label={`Remove ${name}`}>Remove</a>
    </Links>
  )
}

function Invitations (list: MemberList) {
  return (
    <section>
      <h2>Open invitations</h2>
      <Table label='Invitations' columns={buildInvitationColumns(list)} rows={list.invitations} />
    </section>
  )
}

const buildInvitationColumns = ({ csrf, mayChange }: MemberList): Columns<Invitation> => [
  { name: 'Email', kind: 'long', cell: ({ email }) => <span safe>{email}</span> },
  { name: 'Role', cell: ({ role }) => <Badge tone='neutral' text={role} /> },
  { name: 'Invited', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: 'Expires', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  mayChange && {
    name: 'Actions',
    cell: ({ invitationId, email }) => (
      <PostForm action={invitationPath(invitationId, 'withdraw')} csrf={csrf} inline>
        <button type='submit' class='link' aria-label={`Withdraw the invitation of ${email}`}>Withdraw</button>
      </PostForm>
    )
  }
]

function InvitationForm ({ csrf, once, tenantId, email, role = 'viewer', error }: MemberList) {
  const choices: readonly RadioOption[] = (['admin', 'viewer'] as const).map(one => ({
    value: one,
    label: one,
    hint: roleTexts[one]
  }))
  return (
    <section id='invite'>
      <h2>{tenantId === undefined ? 'Invite an operator' : 'Invite someone'}</h2>
      <PostForm action={membersPath(tenantId)} csrf={csrf} once={once}>
        <EmailField value={email} hint='You get a link to send to them. It works once, for 7 days.' error={error} />
        {tenantId === undefined
          ? <input type='hidden' name='role' value='operator' />
          : <RadioField label='Role' name='role' choices={choices} value={role} error={error} />}
        <SubmitButton label='Create invitation' />
      </PostForm>
    </section>
  )
}
