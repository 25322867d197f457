import type { Role } from '../../../config/actor.js'
import type { Invitation, Member } from '../../store/members.js'
import { Badge, Cell, Empty, Heading, Links, Row, Table, Time, OptionalTime, ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, RadioField, SubmitButton, TextField, type RadioOption } from '../forms.js'
import { otherRole } from './changes.js'
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
  /** Not where people sign in at a provider alone: who may is decided there. */
  readonly mayInvite: boolean
  /** The email from the previous submission. */
  readonly email?: string
  readonly role?: string
  readonly error?: FormError
}

/** The people of an organization, or the operators, and who is invited. */
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
        <Members {...list} />
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

/** What each role may do, in short. */
const roleTexts: Readonly<Record<Role, string>> = {
  operator: 'manages all organizations',
  admin: 'manages keys, people and tokens',
  viewer: 'sees everything, changes nothing'
}

function Members ({ tenantId, listing, mayChange }: MemberList) {
  const columns = ['Name', 'Email', 'Role', 'Last sign-in', 'Member since', ...(mayChange ? ['Actions'] : [])]
  return (
    <Table label='Members' columns={columns}>
      {listing.rows.map(member => (
        <Row>
          <Cell of='Name'><span safe>{member.name}</span></Cell>
          <Cell of='Email' kind='long'><span safe>{member.email}</span></Cell>
          <Cell of='Role'><Badge tone='neutral' text={member.role} /></Cell>
          <Cell of='Last sign-in'><OptionalTime at={member.lastSignInAt} otherwise='never' /></Cell>
          <Cell of='Member since'><Time at={member.createdAt} /></Cell>
          {mayChange ? <Cell of='Actions'><MemberActions tenantId={tenantId} member={member} /></Cell> : ''}
        </Row>
      ))}
    </Table>
  )
}

function MemberActions ({ tenantId, member }: { readonly tenantId: string | undefined, readonly member: Member }) {
  const { memberId, name, isFromProvider } = member
  const other = otherRole(member)
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

function Invitations ({ csrf, invitations, mayChange }: MemberList) {
  const columns = ['Email', 'Role', 'Invited', 'Expires', ...(mayChange ? ['Actions'] : [])]
  return (
    <section>
      <h2>Open invitations</h2>
      <Table label='Invitations' columns={columns}>
        {invitations.map(({ invitationId, email, role, createdAt, expiresAt }) => (
          <Row>
            <Cell of='Email' kind='long'><span safe>{email}</span></Cell>
            <Cell of='Role'><Badge tone='neutral' text={role} /></Cell>
            <Cell of='Invited'><Time at={createdAt} /></Cell>
            <Cell of='Expires'><Time at={expiresAt} /></Cell>
            {mayChange
              ? (
                <Cell of='Actions'>
                  <PostForm action={invitationPath(invitationId, 'withdraw')} csrf={csrf} inline>
                    <button type='submit' class='link' aria-label={`Withdraw the invitation of ${email}`}>
                      Withdraw
                    </button>
                  </PostForm>
                </Cell>
                )
              : ''}
          </Row>
        ))}
      </Table>
    </section>
  )
}

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
        <TextField
          label='Email'
          name='email'
          type='email'
          value={email}
          isRequired
          maxLength={254}
          hint='You get a link to send to them. It works once, for 7 days.'
          error={error}
        />
        {tenantId === undefined
          ? <input type='hidden' name='role' value='operator' />
          : <RadioField label='Role' name='role' choices={choices} value={role} error={error} />}
        <SubmitButton label='Create invitation' />
      </PostForm>
    </section>
  )
}
