import { Heading, TroubleNotice } from '../elements.js'
import type { Trouble } from '../form.js'
import { PostForm, RadioField, Send, TextField } from '../forms.js'
import { home } from '../paths.js'
import { planChoices } from './plans.js'
import type { Plans } from '../../config.js'

/** What the form of a new organization is filled with. */
interface NewOrganizationForm {
  readonly csrf: string
  readonly once: string
  readonly plans: Plans
  readonly name?: string
  readonly plan?: string
  readonly trouble?: Trouble
}

/** The form that makes an organization. */
export function NewOrganizationPage ({ csrf, once, plans, name, plan, trouble }: NewOrganizationForm) {
  return (
    <>
      <Heading title='New organization' />
      <TroubleNotice trouble={trouble} />
      <PostForm action={`${home}/organizations/new`} csrf={csrf} once={once}>
        <TextField label='Name' name='name' value={name} isRequired maxLength={200} hint='The customer’s name. You can change it later.' trouble={trouble} />
        <RadioField label='Plan' name='plan' choices={planChoices(plans)} value={plan} trouble={trouble} />
        <Send label='Create organization' cancel={`${home}/organizations`} />
      </PostForm>
    </>
  )
}
