import type { Member } from '../../store/members.js'
import { Heading, ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, SubmitButton, TextField } from '../forms.js'
import { accountPath } from '../paths.js'

interface NameForm {
  readonly csrf: string
  readonly member: Member
  /** The text from the previous submission. */
  readonly name?: string
  readonly error?: FormError
}

/** The page on which members change their own name. */
export function NamePage (form: NameForm) {
  return (
    <>
      <Heading
        title='Change your name'
        about='The others in the dashboard see it. You go on signing in with your email address.'
      />
      {form.member.isFromProvider
        ? (
          <p>Your name comes from your organization’s sign-in. Change it there.</p>
          )
        : (
          <ChangeForm {...form} />
          )}
    </>
  )
}

function ChangeForm ({ csrf, member, name = member.name, error }: NameForm) {
  return (
    <>
      <ErrorNotice error={error} />
      <PostForm action={accountPath('name')} csrf={csrf}>
        <TextField label='Name' name='name' value={name} isRequired maxLength={200} autocomplete='name' error={error} />
        <SubmitButton label='Change name' cancel={accountPath()} />
      </PostForm>
    </>
  )
}
