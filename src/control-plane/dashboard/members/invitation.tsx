import type { Invitation } from '../../store/members.js'
import { Heading, Secret, Time } from '../components.js'
import { membersPath } from '../paths.js'

/** The page that shows the link of an invitation, once. */
export function InvitationPage ({ invitation, link }: { readonly invitation: Invitation, readonly link: string }) {
  const { email, role, tenantId, expiresAt } = invitation
  return (
    <>
      <Heading title='Invitation created' />
      <p>
        Send this link to <strong safe>{email}</strong>, who will join as <strong>{role}</strong>. It works once, until{' '}
        <Time at={expiresAt} />.
      </p>
      <section class='notice notice-warning'>
        <p>
          <strong>Copy the link now.</strong> It is shown only here, only once.
        </p>
      </section>
      <Secret text={link} label='the link' />
      <p>
        <a class='button' href={membersPath(tenantId)}>
          I have copied it
        </a>
      </p>
    </>
  )
}
