import type { FastifyInstance } from 'fastify'
import type { Member } from '../store/members.js'
import { Heading, ErrorNotice, Badge, DescriptionItem, Table, Time, formatTime, type Columns } from './components.js'
import { readField, type FormError } from './form.js'
import { NameField, PostForm, SubmitButton } from './forms.js'
import { accountPath } from './paths.js'
import type { ListedSession } from '../store/session-store.js'
import { hashSecret } from '../../keys/secret.js'
import type { ControlStore } from '../store/store.js'
import { addPages, definePage, type DeclaredPage } from './declared-page.js'
import type { DashboardContext } from './options.js'
import { endSession, signOut } from './session.js'

interface NameForm {
  readonly csrf: string
  readonly member: Member
  /** The text from the previous submission. */
  readonly name?: string
  readonly error?: FormError
}

/** The page on which members change their own name. */
function NamePage (form: NameForm) {
  return (
    <>
      <Heading
        title='Change your name'
        about='The others in the dashboard see it. You go on signing in with your email address.'
      />
      {form.member.isFromProvider
        ? <p>Your name comes from your organization’s sign-in. Change it there.</p>
        : <ChangeForm {...form} />}
    </>
  )
}

function ChangeForm ({ csrf, member, name = member.name, error }: NameForm) {
  return (
    <>
      <ErrorNotice error={error} />
      <PostForm action={accountPath('name')} csrf={csrf}>
        <NameField value={name} autocomplete='name' error={error} />
        <SubmitButton label='Change name' cancel={accountPath()} />
      </PostForm>
    </>
  )
}

/** The content of the account page. */
interface AccountProps {
  readonly member: Member
  readonly organization: string | undefined
  readonly sessions: readonly ListedSession[]
  /** The hash of the id of this browser's session. */
  readonly own: string
  readonly csrf: string
}

/** The member's name and address, and the member's sessions. */
function AccountPage ({ member, organization, sessions, own, csrf }: AccountProps) {
  return (
    <>
      <Heading title='Your account'>{member.isFromProvider ? '' : <OwnLinks />}</Heading>
      <dl class='facts'>
        <DescriptionItem name='Name'><span safe>{member.name}</span></DescriptionItem>
        <DescriptionItem name='Email'><span safe>{member.email}</span></DescriptionItem>
        <DescriptionItem name='Role'><span>{member.role}</span></DescriptionItem>
        {organization === undefined
          ? ''
          : <DescriptionItem name='Organization'><span safe>{organization}</span></DescriptionItem>}
        <DescriptionItem name='Signs in'>
          <span>{member.isFromProvider ? 'with the organization’s own sign-in' : 'with a password'}</span>
        </DescriptionItem>
      </dl>
      <section>
        <h2>Sessions</h2>
        <p class='quiet'>Where you are signed in. If you do not recognize one, end it and change your password.</p>
        <Table label='Sessions' columns={buildSessionColumns({ own, csrf })} rows={sessions} />
        {sessions.length > 1 ? <EndOthers csrf={csrf} /> : ''}
      </section>
    </>
  )
}

/** Links to change the name and password, for members without an OpenID provider. */
function OwnLinks () {
  return (
    <>
      <a class='button' href={accountPath('name')}>Change name</a>
      <a class='button' href='/dashboard/password'>Change password</a>
    </>
  )
}

const buildSessionColumns = (
  { own, csrf }: Pick<AccountProps, 'own' | 'csrf'>
): Columns<ListedSession> => [
  { name: 'Browser', cell: ({ browser }) => <span safe>{browser ?? 'unknown'}</span> },
  { name: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: 'Last active', cell: ({ seenAt }) => <Time at={seenAt} /> },
  {
    name: 'Actions',
    cell: ({ idHash, createdAt }) => idHash === own
      ? <Badge tone='good' text='This browser' />
      : <EndForm idHash={idHash} createdAt={createdAt} csrf={csrf} />
  }
]

function EndOthers ({ csrf }: { readonly csrf: string }) {
  return (
    <PostForm action={accountPath('sessions/end-others')} csrf={csrf} inline>
      <button type='submit' class='button'>End all other sessions</button>
    </PostForm>
  )
}

function EndForm ({
  idHash,
  createdAt,
  csrf
}: Pick<ListedSession, 'idHash' | 'createdAt'> & { readonly csrf: string }) {
  return (
    <PostForm action={accountPath('sessions/end')} csrf={csrf} inline>
      <input type='hidden' name='session' value={idHash} />
      <button type='submit' class='link' aria-label={`End the session of ${formatTime(createdAt)}`}>
        End
      </button>
    </PostForm>
  )
}

/** The routes of the member's account, its sessions and signing out. */
export async function accountRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  addPages(scope, accountPages(parts))
  scope.post('/sign-out', async (request, reply) => {
    await signOut(request, reply, parts.cookies)
    return endSession(reply)
  })
}

const accountPages = ({ control }: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  definePage({
    path: '/account',
    title: 'Your account',
    show: async ({ request: { member, session }, csrf }) => {
      const { memberId, tenantId } = member
      const organization = tenantId === undefined ? undefined : await control.organizations.find(tenantId)
      return (
        <AccountPage
          member={member}
          organization={organization?.name}
          sessions={await control.sessions.listByMember(memberId)}
          own={hashSecret(session.sessionId)}
          csrf={csrf}
        />
      )
    },
    actions: [
      {
        at: '/sessions/end',
        role: 'member',
        run: async ({ member, body }) => {
          await control.sessions.endByMember(member.memberId, { idHash: readField(body, 'session') })
          return { to: accountPath(), message: 'Session ended.' }
        }
      },
      {
        at: '/sessions/end-others',
        role: 'member',
        run: async ({ member, session }) => {
          await control.sessions.endByMember(member.memberId, { except: session.sessionId })
          return { to: accountPath(), message: 'All other sessions ended.' }
        }
      }
    ]
  }),
  namePage(control)
]

const namePage = (control: ControlStore): DeclaredPage<any> => definePage({
  path: '/account/name',
  title: 'Change your name',
  show: ({ request: { member }, csrf, typed, error }) =>
    <NamePage csrf={csrf} member={member} name={typed?.('name')} error={error} />,
  actions: [{
    role: 'member',
    redisplayOn: 'invalid or conflict',
    run: async ({ member, body }) => {
      await control.members.changeName(member.memberId, readField(body, 'name'))
      return { to: accountPath(), message: 'Name changed.' }
    }
  }]
})
