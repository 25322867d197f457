import { Heading, ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, RadioField, SubmitButton, TextField } from '../forms.js'
import { home } from '../paths.js'
import { planChoices } from './plans.js'
import type { Plans } from '../../../config/schema.js'

/** The values of the form of a new organization. */
interface NewOrganizationForm {
  readonly csrf: string
  readonly once: string
  readonly plans: Plans
  readonly name?: string
  readonly plan?: string
  readonly error?: FormError
}

/** The form that makes an organization. */
export function NewOrganizationPage ({ csrf, once, plans, name, plan, error }: NewOrganizationForm) {
  return (
    <>
      <Heading title='New organization' />
      <ErrorNotice error={error} />
      <PostForm action={`${home}/organizations/new`} csrf={csrf} once={once}>
        <TextField
          label='Name'
          name='name'
          value={name}
          isRequired
          maxLength={200}
          hint='The customer’s name. You can change it later.'
          error={error}
        />
        <RadioField label='Plan' name='plan' choices={planChoices(plans)} value={plan} error={error} />
        <SubmitButton label='Create organization' cancel={`${home}/organizations`} />
      </PostForm>
    </>
  )
}
