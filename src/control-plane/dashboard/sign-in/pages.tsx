import type { Member } from '../../store/members.js'
import type { Organization } from '../../store/organizations.js'
import { ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { PasswordField, EmailField, PostForm, SubmitButton } from '../forms.js'

/** The ways to sign in that this service has, and the text from the previous submission. */
interface SignInForm {
  readonly csrf: string
  readonly next: string
  readonly hasPasswords: boolean
  /** The text of the button that leads to the OpenID provider. */
  readonly provider?: string
  readonly email?: string
  readonly error?: FormError
}

/** The page on which people sign in. */
export function SignInPage ({ csrf, next, hasPasswords, provider, email = '', error }: SignInForm) {
  return (
    <>
      <h1>Sign in</h1>
      <ErrorNotice error={error} />
      {hasPasswords ? <PasswordForm csrf={csrf} next={next} email={email} error={error} /> : ''}
      {hasPasswords && provider !== undefined
        ? <p class='or'><span>or</span></p>
        : ''}
      {provider === undefined
        ? ''
        : (
          <p>
            <a class='button button-wide' href={`/dashboard/oidc/start?${new URLSearchParams({ next })}`} safe>
              {provider}
            </a>
          </p>
          )}
    </>
  )
}

function PasswordForm ({ csrf, next, email, error }: Pick<SignInForm, 'csrf' | 'next' | 'email' | 'error'>) {
  return (
    <PostForm action='/dashboard/sign-in' csrf={csrf}>
      <input type='hidden' name='next' value={next} />
      <EmailField value={email} autocomplete='username' error={error} />
      <PasswordField label='Password' name='password' kind='current-password' error={error} />
      <SubmitButton label='Sign in' />
      <p class='hint'>
        Lost your password? An admin of your organization can give you a new one; operators get one with{' '}
        <code>clinigate operators reset-password</code>.
      </p>
    </PostForm>
  )
}

/** One of the memberships that a password opened. */
export interface AccountChoice { readonly member: Member, readonly organization: Organization | undefined }

/** The page on which a person of several organizations chooses one. */
export function ChoicePage ({
  csrf,
  next,
  offers
}: {
  readonly csrf: string
  readonly next: string
  readonly offers: readonly AccountChoice[]
}) {
  return (
    <>
      <h1>Choose an organization</h1>
      <p>Your email and password work for several. To switch, sign out and sign in again.</p>
      <PostForm action='/dashboard/choose-organization' csrf={csrf}>
        <input type='hidden' name='next' value={next} />
        {offers.map(({ member, organization }) => (
          <button type='submit' name='member' value={member.memberId} class='button button-wide' safe>
            {organization?.name ?? 'Operators of the service'}
          </button>
        ))}
      </PostForm>
    </>
  )
}

/** The page after too many attempts; the next attempt is possible in `minutes`. */
export function WaitPage ({ minutes }: { readonly minutes: number }) {
  return (
    <>
      <h1>Too many attempts</h1>
      <p role='alert' safe>{`Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`} and try again.`}</p>
      <p>
        This stops people who guess passwords. A browser in which you have signed in before has attempts of its own.
      </p>
      <p>
        <a class='button' href='/dashboard/sign-in'>Back to the sign-in</a>
      </p>
    </>
  )
}
