import type { FastifyInstance } from 'fastify'
import type { Member } from '../../store/members.js'
import { ErrorNotice } from '../components.js'
import { readField, redisplayOnError, toHttpStatus, toFormError, type FormError } from '../form.js'
import { PasswordField, passwordHint, PostForm, SubmitButton } from '../forms.js'
import type { DashboardContext } from '../options.js'
import { renewSession } from '../session.js'
import { rememberDevice, sendTooManyAttempts } from './sign-in.js'
import type { AttemptLimits } from './limits.js'

const path = '/dashboard/password'
const title = 'Change your password'

/** The page on which a member changes the password; nothing else is reachable for one who must. */
export async function passwordRoutes (
  scope: FastifyInstance,
  parts: DashboardContext & { readonly attempts: AttemptLimits }
): Promise<void> {
  const { control, attempts } = parts
  scope.get(
    '/password',
    async ({ member }, reply) => await reply.page(title, <PasswordPage member={member} csrf={reply.generateCsrf()} />)
  )
  scope.post('/password', async (request, reply) => {
    const { member, body, session } = request
    const redisplay = async (error: FormError, status: number) =>
      await reply.code(status).page(title, <PasswordPage member={member} csrf={reply.generateCsrf()} error={error} />)
    const wait = await attempts.countForBrowser(request, session.sessionId)
    if (wait !== undefined) return await sendTooManyAttempts(reply, wait)
    if (readField(body, 'wanted') !== readField(body, 'again')) {
      return await redisplay({ message: 'The two new passwords are different.', field: 'again' }, 422)
    }
    return await redisplayOnError(
      async () => {
        const opened = await control.members.changePassword(member.memberId, {
          current: readField(body, 'current'),
          requested: readField(body, 'wanted')
        })
        if ((await renewSession(request, parts, opened)) === undefined) {
          return reply.done('/dashboard/sign-in', 'Your password was changed meanwhile. Sign in with the new one.')
        }
        await rememberDevice(reply, parts, [member])
        return reply.done('/dashboard', 'Password changed. All your other sessions have ended.')
      },
      async refusal => await redisplay(toFormError(refusal), toHttpStatus(refusal))
    )
  })
}

function PasswordPage ({
  member,
  csrf,
  error
}: {
  readonly member: Member
  readonly csrf: string
  readonly error?: FormError
}) {
  return (
    <div class='narrow'>
      <h1>{title}</h1>
      {member.mustChangePassword ? <p>Your current password is temporary. Choose one that only you know.</p> : ''}
      <ErrorNotice error={error} />
      {member.isFromProvider
        ? <p>Your password is kept by your organization's sign-in. Change it there.</p>
        : <PasswordForm email={member.email} csrf={csrf} error={error} />}
    </div>
  )
}

function PasswordForm ({
  email,
  csrf,
  error
}: {
  readonly email: string
  readonly csrf: string
  readonly error: FormError | undefined
}) {
  return (
    <PostForm action={path} csrf={csrf}>
      <input type='email' name='username' value={email} autocomplete='username' readonly hidden />
      <PasswordField label='Current password' name='current' kind='current-password' error={error} />
      <PasswordField label='New password' name='wanted' kind='new-password' hint={passwordHint} error={error} />
      <PasswordField label='Repeat new password' name='again' kind='new-password' error={error} />
      <SubmitButton label='Change password' />
    </PostForm>
  )
}
