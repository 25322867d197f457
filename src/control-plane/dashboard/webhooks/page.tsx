import type { Delivery, DeliveryPage } from '../../../events/webhooks/webhook.js'
import type { OwnedWebhook } from '../../store/control-service.js'
import { Badge, DescriptionItem, Empty, ErrorNotice, Heading, Table, Time, type Columns } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, SubmitButton, TextField } from '../forms.js'
import { organizationPath, webhookPath } from '../paths.js'
import { WebhookForm, WebhookState, type WebhookFields } from './list.js'

/** The content of the page of one webhook. */
interface WebhookDetails {
  readonly csrf: string
  readonly webhook: OwnedWebhook
  readonly deliveries: DeliveryPage
  readonly mayChange: boolean
  readonly typed: WebhookFields
  /** The day in the form that sends events again. */
  readonly since: string
  readonly error?: FormError
}

/** One webhook, what it delivered, and what can be done with it. */
export function WebhookPage (details: WebhookDetails) {
  const { webhook, mayChange, error } = details
  return (
    <>
      <Heading title='Webhook' about={webhook.url}>
        {mayChange ? <Actions {...details} /> : ''}
      </Heading>
      <ErrorNotice error={error} />
      {webhook.disabledReason === undefined ? '' : <Disabled webhook={webhook} />}
      <Facts webhook={webhook} />
      <Deliveries {...details} />
      {mayChange ? <Changes {...details} /> : ''}
    </>
  )
}

function Actions ({ csrf, webhook: { id, enabled } }: WebhookDetails) {
  return (
    <>
      <PostForm action={webhookPath(id, 'test')} csrf={csrf} inline>
        <button type='submit' class='button button-primary'>Send a test event</button>
      </PostForm>
      <PostForm action={webhookPath(id, 'switch')} csrf={csrf} inline>
        <input type='hidden' name='enabled' value={enabled ? 'off' : 'on'} />
        <button type='submit' class='button'>{enabled ? 'Switch off' : 'Switch on'}</button>
      </PostForm>
      <a class='button' href={webhookPath(id, 'roll')}>Roll secret</a>
      <a class='button button-danger' href={webhookPath(id, 'remove')}>Delete</a>
    </>
  )
}

function Disabled ({ webhook: { disabledReason, disabledAt } }: Pick<WebhookDetails, 'webhook'>) {
  return (
    <section class='notice notice-warning'>
      <p>
        <strong>The service switched this webhook off</strong>{' '}
        {disabledAt === undefined ? '' : <Time at={disabledAt} />}. <span safe>{disabledReason!}</span>
      </p>
      <p>Correct the receiver and switch it on again: the events that wait are then sent.</p>
    </section>
  )
}

function Facts ({ webhook }: Pick<WebhookDetails, 'webhook'>) {
  const { id, mode, types, description, createdAt, previousSecretUntil } = webhook
  return (
    <section>
      <dl class='facts'>
        <DescriptionItem name='State'><WebhookState webhook={webhook} /></DescriptionItem>
        <DescriptionItem name='Mode'><Badge tone={mode} text={mode} /></DescriptionItem>
        <DescriptionItem name='Events'><span safe>{types.join(', ')}</span></DescriptionItem>
        {description === undefined
          ? ''
          : <DescriptionItem name='Description'><span safe>{description}</span></DescriptionItem>}
        <DescriptionItem name='Webhook id'><code safe>{id}</code></DescriptionItem>
        <DescriptionItem name='Created'><Time at={createdAt} /></DescriptionItem>
        {previousSecretUntil === undefined
          ? ''
          : <DescriptionItem name='Old secret signs until'><Time at={previousSecretUntil} /></DescriptionItem>}
      </dl>
    </section>
  )
}

function Deliveries ({ webhook, deliveries: { deliveries, hasMore } }: WebhookDetails) {
  const last = deliveries.at(-1)
  return (
    <section id='deliveries'>
      <h2>Last deliveries</h2>
      {deliveries.length === 0
        ? <Empty title='Nothing delivered yet'><p>Send a test event to see whether the receiver responds.</p></Empty>
        : <Table label='Last deliveries' columns={deliveryColumns} rows={deliveries} />}
      {hasMore && last !== undefined
        ? <p><a href={`${webhookPath(webhook.id)}?before=${encodeURIComponent(last.id)}#deliveries`}>Older deliveries</a></p>
        : ''}
    </section>
  )
}

const deliveryColumns: Columns<Delivery> = [
  { name: 'Time', cell: ({ at }) => <Time at={at} /> },
  {
    name: 'Event',
    kind: 'long',
    cell: ({ eventType, eventId }) => (
      <div>
        <span safe>{eventType}</span>
        <span class='beneath' safe>{eventId}</span>
      </div>
    )
  },
  {
    name: 'Outcome',
    cell: ({ outcome }) => <Badge tone={outcome === 'delivered' ? 'good' : 'bad'} text={outcome} />
  },
  { name: 'Attempt', cell: ({ attempt }) => <span safe>{String(attempt)}</span> },
  {
    name: 'Response',
    kind: 'long',
    cell: ({ responseStatus, error, durationMs, responseText }) => (
      <div>
        <span safe>{`${responseStatus ?? error ?? ''} in ${durationMs} ms`}</span>
        {responseText === undefined ? '' : <ResponseText text={responseText} />}
      </div>
    )
  },
  { name: 'Next attempt', cell: ({ nextAttemptAt }) => nextAttemptAt === undefined ? '' : <Time at={nextAttemptAt} /> }
]

/** The text of a receiver's response, collapsed. */
function ResponseText ({ text }: { readonly text: string }) {
  return (
    <details>
      <summary>Response</summary>
      <code safe>{text}</code>
    </details>
  )
}

function Changes ({ csrf, webhook: { id, tenantId }, typed, since, error }: WebhookDetails) {
  return (
    <>
      <section>
        <h2>Send again</h2>
        <PostForm action={webhookPath(id)} csrf={csrf}>
          <TextField
            label='Since the start of this day (UTC)'
            name='since'
            type='date'
            value={since}
            isRequired
            hint='All events since then are sent again, with the ids that they had.'
            error={error}
          />
          <SubmitButton label='Send again' />
        </PostForm>
      </section>
      <section>
        <h2>Settings</h2>
        <PostForm action={webhookPath(id)} csrf={csrf}>
          <WebhookForm typed={typed} error={error} />
          <SubmitButton label='Save' cancel={organizationPath(tenantId, 'webhooks')} />
        </PostForm>
      </section>
    </>
  )
}
