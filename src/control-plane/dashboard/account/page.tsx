import type { Member } from '../../store/members.js'
import type { ListedSession } from '../../store/session-store.js'
import { Badge, Cell, DescriptionItem, Heading, Row, Table, Time, momentText } from '../components.js'
import { PostForm } from '../forms.js'
import { accountPath } from '../paths.js'

/** The content of the account page. */
interface AccountProps {
  readonly member: Member
  readonly organization: string | undefined
  readonly sessions: readonly ListedSession[]
  /** The hash of the id of this browser's session. */
  readonly own: string
  readonly csrf: string
}

/** Who the member is, and where the member is signed in. */
export function AccountPage ({ member, organization, sessions, own, csrf }: AccountProps) {
  return (
    <>
      <Heading title='Your account'>{member.isFromProvider ? '' : <OwnLinks />}</Heading>
      <dl class='facts'>
        <DescriptionItem name='Name'>
          <span safe>{member.name}</span>
        </DescriptionItem>
        <DescriptionItem name='Email'>
          <span safe>{member.email}</span>
        </DescriptionItem>
        <DescriptionItem name='Role'>
          <span>{member.role}</span>
        </DescriptionItem>
        {organization === undefined
          ? (
              ''
            )
          : (
            <DescriptionItem name='Organization'>
              <span safe>{organization}</span>
            </DescriptionItem>
            )}
        <DescriptionItem name='Signs in'>
          <span>{member.isFromProvider ? 'with the organization’s own sign-in' : 'with a password'}</span>
        </DescriptionItem>
      </dl>
      <section>
        <h2>Sessions</h2>
        <p class='quiet'>Where you are signed in. If you do not recognize one, end it and change your password.</p>
        <Table label='Sessions' columns={['Browser', 'Signed in', 'Last active', 'Actions']}>
          {sessions.map(session => (
            <SessionRow session={session} isOwn={session.idHash === own} csrf={csrf} />
          ))}
        </Table>
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

function SessionRow ({
  session: { idHash, createdAt, seenAt, browser },
  isOwn,
  csrf
}: {
  readonly session: ListedSession
  readonly isOwn: boolean
  readonly csrf: string
}) {
  return (
    <Row>
      <Cell of='Browser'>
        <span safe>{browser ?? 'unknown'}</span>
      </Cell>
      <Cell of='Signed in'>
        <Time at={createdAt} />
      </Cell>
      <Cell of='Last active'>
        <Time at={seenAt} />
      </Cell>
      <Cell of='Actions'>
        {isOwn
          ? (
            <Badge tone='good' text='This browser' />
            )
          : (
            <EndForm idHash={idHash} createdAt={createdAt} csrf={csrf} />
            )}
      </Cell>
    </Row>
  )
}

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
      <button type='submit' class='link' aria-label={`End the session of ${momentText(createdAt)}`}>
        End
      </button>
    </PostForm>
  )
}
