import type { Member } from '../../store/members.js'
import { Heading, ShownOnce } from '../components.js'
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
export function getOtherRole ({ role }: Member): 'admin' | 'viewer' {
  return role === 'admin' ? 'viewer' : 'admin'
}

/** The confirmation page for changing a member's role. */
export function RolePage ({ csrf, member, isOwn }: MemberView) {
  const role = getOtherRole(member)
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

/** The confirmation page for replacing a member's password. */
export function ResetPasswordPage ({ csrf, member }: { readonly csrf: string, readonly member: Member }) {
  return (
    <>
      <Heading title={`Reset the password of ${member.name}?`} />
      <p>
        <span safe>{member.email}</span> is signed out everywhere. You get a temporary password, which they must change
        when they sign in.
      </p>
      <PostForm action={memberPath(member.memberId, 'password')} csrf={csrf}>
        <SubmitButton label='Reset password' cancel={membersPath(member.tenantId)} isDangerous />
      </PostForm>
    </>
  )
}

/** The page that shows a password for the next sign-in, once. */
export function NewPasswordPage ({ member, password }: { readonly member: Member, readonly password: string }) {
  return (
    <>
      <Heading title={`New password for ${member.name}`} />
      <ShownOnce
        text={password}
        label='the password'
        risk='Send it over a channel that you trust.'
        next={membersPath(member.tenantId)}
      />
    </>
  )
}
