import type { Member } from '../../store/members.js'
import { Heading, Secret } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'
import { memberPath, membersPath } from '../paths.js'

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
      <section class='notice notice-warning'>
        <p>
          <strong>Copy the password now.</strong> It is shown only here, only once. Send it over a channel that you
          trust.
        </p>
      </section>
      <Secret text={password} label='the password' />
      <p>
        <a class='button' href={membersPath(member.tenantId)}>
          I have copied it
        </a>
      </p>
    </>
  )
}
