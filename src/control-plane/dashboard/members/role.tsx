import type { Member } from '../../store/members.js'
import { Heading } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'
import { memberPath, membersPath } from '../paths.js'

/** The member on a confirmation page. */
export interface MemberView {
  readonly csrf: string
  readonly member: Member
  /** Whether the member is the reader. */
  readonly isOwn: boolean
}

const wills = {
  admin: 'will manage keys, people and tokens',
  viewer: 'will see everything and change nothing'
} as const

/** The other role that a member of an organization can have. */
export function otherRole ({ role }: Member): 'admin' | 'viewer' {
  return role === 'admin' ? 'viewer' : 'admin'
}

/** The confirmation page for changing a member's role. */
export function RolePage ({ csrf, member, isOwn }: MemberView) {
  const role = otherRole(member)
  return (
    <>
      <Heading title={`Make ${member.name} ${role}?`} />
      <p>
        <span safe>{member.email}</span> {wills[role]}.
      </p>
      <p>
        {isOwn
          ? 'This is you. You are signed out everywhere at once. You cannot make yourself admin again: another admin must, or an operator of the service.'
          : 'They are signed out everywhere at once and must sign in again.'}
      </p>
      <PostForm action={memberPath(member.memberId, 'role')} csrf={csrf}>
        <input type='hidden' name='role' value={role} />
        <SubmitButton label={`Make ${role}`} cancel={membersPath(member.tenantId)} isDangerous={isOwn} />
      </PostForm>
    </>
  )
}
