import type { FastifyInstance, FastifyReply } from 'fastify'
import { expiredInvitation } from '../../store/invitation-store.js'
import type { Invitation } from '../../store/members.js'
import { ErrorNotice } from '../components.js'
import { readField, redisplayOnError, toHttpStatus, toFormError, type FormError } from '../form.js'
import { NameField, PasswordField, PostForm, SubmitButton, passwordHint } from '../forms.js'
import type { DashboardContext } from '../options.js'
import { signIn } from '../session.js'

const title = 'Accept your invitation'

interface Typed { readonly name?: string, readonly error?: FormError }

/** The page behind the link of an invitation, which makes its reader a member. */
export async function invitationRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  const { control } = parts
  const show = async (reply: FastifyReply, token: string, typed: Typed = {}): Promise<FastifyReply> => {
    const invitation = await find(control, token)
    const organization =
      invitation.tenantId === undefined ? undefined : (await control.organizations.find(invitation.tenantId)).name
    return await reply.page(
      title,
      <InvitationPage
        action={`/dashboard/invitations/${token}`}
        invitation={invitation}
        organization={organization}
        csrf={reply.generateCsrf()}
        {...typed}
      />
    )
  }
  scope.get<{ Params: Link }>('/invitations/:token', async ({ params: { token } }, reply) => await show(reply, token))
  scope.post<{ Params: Link }>('/invitations/:token', async (request, reply) => {
    const { params: { token }, body } = request
    const name = readField(body, 'name')
    // Before the password is hashed, which is expensive.
    await find(control, token)
    return await redisplayOnError(async () => {
      const { memberId } = await control.invitations.accept(token, { name, password: readField(body, 'password') })
      await signIn(request, parts, memberId)
      return reply.done('/dashboard', 'Welcome. You are signed in. Next time, sign in with your email and password.')
    }, async refusal => await show(reply.code(toHttpStatus(refusal)), token, { name, error: toFormError(refusal) }))
  })
}

interface Link { readonly token: string }

async function find (control: DashboardContext['control'], token: string): Promise<Invitation> {
  const invitation = /^[0-9A-Za-z]{43}$/.test(token) ? await control.invitations.findByToken(token) : undefined
  if (invitation === undefined) throw expiredInvitation()
  return invitation
}

interface InvitationPageProps extends Typed {
  readonly action: string
  readonly invitation: Invitation
  readonly organization: string | undefined
  readonly csrf: string
}

function InvitationPage ({
  action,
  invitation: { email, role },
  organization,
  csrf,
  name = '',
  error
}: InvitationPageProps) {
  return (
    <>
      <h1>{title}</h1>
      <p>
        You were invited to <strong safe>{organization ?? 'run this service'}</strong> as <strong>{role}</strong>.
      </p>
      <ErrorNotice error={error} />
      <PostForm action={action} csrf={csrf}>
        <div class='field'>
          <label for='email'>Email</label>
          <input id='email' type='email' value={email} autocomplete='username' readonly />
        </div>
        <NameField label='Your name' value={name} autocomplete='name' error={error} />
        <PasswordField label='Password' name='password' kind='new-password' hint={passwordHint} error={error} />
        <SubmitButton label='Accept' />
      </PostForm>
    </>
  )
}
