import type { Member } from '../../store/members.js'
import { Heading } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'
import { memberPath, membersPath } from '../paths.js'

/** A member about whom something is asked. */
export interface MemberView {
  readonly csrf: string
  readonly member: Member
  /** Whether it is the one who is asked. */
  readonly isOwn: boolean
}

const wills = {
  admin: 'will manage keys, people and tokens',
  viewer: 'will see everything and change nothing'
} as const

/** The role that a member of an organization can be given. */
export function otherRole ({ role }: Member): 'admin' | 'viewer' {
  return role === 'admin' ? 'viewer' : 'admin'
}

/** Asks whether a member is really to have the other role. */
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
