import type { OwnedWebhook } from '../../store/control-service.js'
import { Badge, Empty, ErrorNotice, Heading, Table, Time, type Columns } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, RadioField, SubmitButton, TextField, type RadioOption } from '../forms.js'
import { organizationPath, webhookPath } from '../paths.js'

/** The values of the fields of a webhook, as they were typed. */
export interface WebhookFields {
  readonly url: string
  readonly types: string
  readonly description: string
}

/** The content of the page of webhooks. */
interface WebhookList {
  readonly csrf: string
  readonly tenantId: string
  readonly webhooks: readonly OwnedWebhook[]
  readonly mayChange: boolean
  readonly typed: WebhookFields & { readonly mode?: string }
  readonly error?: FormError
}

/** The webhooks of an organization, and the form that makes one. */
export function WebhooksPage (list: WebhookList) {
  const { webhooks, mayChange, error } = list
  return (
    <>
      <Heading
        title='Webhooks'
        about='Each change of a record is sent to these URLs as a signed event with ids only, never with clinical content.'
      >
        {mayChange && webhooks.length > 0 ? <a class='button button-primary' href='#new-webhook'>New webhook</a> : ''}
      </Heading>
      <ErrorNotice error={error} />
      {webhooks.length === 0
        ? <NoWebhook mayChange={mayChange} />
        : <Table label='Webhooks' columns={columns} rows={webhooks} />}
      {mayChange ? <NewWebhook {...list} /> : ''}
    </>
  )
}

function NoWebhook ({ mayChange }: Pick<WebhookList, 'mayChange'>) {
  return (
    <Empty title='No webhooks'>
      <p>
        {mayChange
          ? 'Create one for each application that wants to know at once what changed.'
          : 'Ask an admin of your organization to create one.'}
      </p>
    </Empty>
  )
}

const columns: Columns<OwnedWebhook> = [
  {
    name: 'URL',
    cell: ({ id, url, description }) => (
      <div>
        <a href={webhookPath(id)} safe>{url}</a>
        {description === undefined ? '' : <span class='beneath' safe>{description}</span>}
      </div>
    )
  },
  { name: 'Mode', cell: ({ mode }) => <Badge tone={mode} text={mode} /> },
  { name: 'State', cell: webhook => <WebhookState webhook={webhook} /> },
  { name: 'Events', kind: 'long', cell: ({ types }) => <span safe>{types.join(', ')}</span> },
  { name: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> }
]

/** Whether a webhook sends. */
export function WebhookState ({ webhook }: { readonly webhook: OwnedWebhook }) {
  if (webhook.enabled) return <Badge tone='good' text='on' />
  return webhook.disabledReason === undefined
    ? <Badge tone='neutral' text='off' />
    : <Badge tone='bad' text='switched off by the service' />
}

const modes: readonly RadioOption[] = [
  { value: 'test', label: 'Test', hint: 'Events of test data.' },
  { value: 'live', label: 'Live', hint: 'Events of the records of real people.' }
]

function NewWebhook ({ csrf, tenantId, typed, error }: WebhookList) {
  return (
    <section id='new-webhook'>
      <h2>New webhook</h2>
      <PostForm action={organizationPath(tenantId, 'webhooks')} csrf={csrf}>
        <WebhookForm typed={typed} error={error} />
        <RadioField label='Mode' name='mode' choices={modes} value={typed.mode} error={error} />
        <SubmitButton label='Create webhook' />
      </PostForm>
    </section>
  )
}

/** The fields of a webhook. */
export function WebhookForm ({ typed, error }: { readonly typed: WebhookFields, readonly error?: FormError }) {
  return (
    <>
      <TextField
        label='URL'
        name='url'
        value={typed.url}
        isRequired
        maxLength={2_048}
        hint='Where your application receives events, such as https://app.example.org/hooks.'
        error={error}
      />
      <TextField
        label='Events'
        name='types'
        value={typed.types}
        isRequired
        maxLength={10_000}
        hint='Types with a comma between them: patients.created, appointments.*, or * for all.'
        error={error}
      />
      <TextField
        label='Description (optional)'
        name='description'
        value={typed.description}
        maxLength={200}
        error={error}
      />
    </>
  )
}
