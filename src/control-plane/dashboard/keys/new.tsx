import { Heading, ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, RadioField, SubmitButton, TextField, type RadioOption } from '../forms.js'
import { organizationPath } from '../paths.js'
import { chosenResources, ResourceScopes, type ResourceChoice } from './resource-scopes.js'

/** The values of the form of a new key. */
interface NewKeyForm {
  readonly csrf: string
  readonly once: string
  readonly tenantId: string
  readonly now: Date
  readonly name?: string
  readonly mode?: string
  readonly scopes?: string
  readonly resources?: ResourceChoice
  readonly lastDay?: string
  readonly error?: FormError
}

const modes: readonly RadioOption[] = [
  { value: 'test', label: 'Test', hint: 'For development. Opens the test datastore, never real records.' },
  { value: 'live', label: 'Live', hint: 'Opens the records of real people.' }
]

const scopes: readonly RadioOption[] = [
  { value: '*', label: 'Read and write' },
  { value: 'read', label: 'Read only' },
  { value: 'write', label: 'Write only' },
  { value: chosenResources, label: 'Only some resources', hint: 'Choose below what it may read and write.' }
]

/** The form that makes a key. */
export function NewKeyPage (form: NewKeyForm) {
  const { csrf, once, tenantId, now, name, mode, scopes: chosen, resources, lastDay, error } = form
  return (
    <>
      <Heading title='New key' />
      <ErrorNotice error={error} />
      <PostForm action={organizationPath(tenantId, 'keys/new')} csrf={csrf} once={once}>
        <TextField
          label='Name'
          name='name'
          value={name}
          isRequired
          maxLength={200}
          hint='The application that will use it, such as “intake form”. Give each application its own key.'
          error={error}
        />
        <RadioField label='Mode' name='mode' choices={modes} value={mode} error={error} />
        <RadioField label='Scopes' name='scopes' choices={scopes} value={chosen} error={error} />
        <ResourceScopes choice={resources} />
        <TextField
          label='Last day (optional)'
          name='lastDay'
          type='date'
          value={lastDay}
          min={now.toISOString().slice(0, 10)}
          hint='It works until the end of this day (UTC). Without a last day it works until you revoke it.'
          error={error}
        />
        <SubmitButton label='Create key' cancel={organizationPath(tenantId, 'keys')} />
      </PostForm>
    </>
  )
}
