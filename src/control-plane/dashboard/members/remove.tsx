import { Heading, OptionalTime } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'
import { memberPath, membersPath } from '../paths.js'
import type { MemberView } from './role.js'

const backAgain =
  'They are signed out everywhere at once, but come back with their next sign-in unless they are removed at the provider too.'

/** Asks whether a member is really to be removed. */
export function RemovePage ({ csrf, member, isOwn }: MemberView) {
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
