import { modes, type Mode } from '../../../config/mode.js'
import type { NewWebhook } from '../../../events/webhooks/webhook.js'
import { isDay } from '../../../time/iso-time.js'
import { ControlError } from '../../store/control-error.js'
import type { OwnedWebhook } from '../../store/control-service.js'
import {
  fetchPageFacts, organizationPageBase, definePage, queryParameter, type DeclaredPage, type PageRequest, type PageView
} from '../declared-page.js'
import { readField, readFieldValues } from '../form.js'
import type { DashboardContext } from '../options.js'
import type { PageFacts } from '../page.js'
import { organizationPath, webhookPath } from '../paths.js'
import { WebhooksPage, type WebhookFields } from './list.js'
import { WebhookPage } from './page.js'
import { Heading, ShownOnce } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'

const deliveriesPerPage = 20

/** The pages of webhooks. */
export const webhookPages = ({ now }: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  definePage({
    ...organizationPageBase,
    path: '/organizations/:tenantId/webhooks',
    title: 'Webhooks',
    show: async ({ subject: { tenantId }, request: { controlService, body }, csrf, mayChange, typed, error }) => (
      <WebhooksPage
        csrf={csrf}
        tenantId={tenantId}
        webhooks={await controlService.listWebhooks(tenantId)}
        mayChange={mayChange}
        typed={typed === undefined
          ? { url: '', types: '*', description: '' }
          : { ...readWebhookForm(body), mode: typed('mode') || undefined }}
        error={error}
      />
    ),
    actions: [{
      redisplayOn: 'invalid or conflict',
      run: async (request, { tenantId }) => {
        const mode = readField(request.body, 'mode') as Mode
        if (!modes.includes(mode)) throw new ControlError('invalid', 'Choose test or live.', 'mode')
        const { url, types, description } = readWebhookForm(request.body)
        const draft = { tenantId, mode, url, types: parseEventTypes(types), description }
        return await buildSecretOutcome(await request.controlService.createWebhook(draft), request)
      }
    }]
  }),
  definePage({
    ...webhookPageBase,
    path: '/webhooks/:webhookId',
    title: 'Webhook',
    show: view => showOne(view, now()),
    actions: [
      { redisplayOn: 'invalid or conflict', run: submit },
      { at: '/test', redisplayOn: 'invalid or conflict', run: test },
      { at: '/switch', redisplayOn: 'invalid or conflict', run: change }
    ]
  }),
  ...webhookChangePages
]

/** The common parts of the pages about a webhook. */
const webhookPageBase = {
  load: ({ controlService, params }: PageRequest): Promise<OwnedWebhook> =>
    controlService.findWebhook(params.webhookId),
  facts: ({ tenantId }: OwnedWebhook, request: PageRequest): Promise<PageFacts> =>
    fetchPageFacts(organizationPath(tenantId, 'webhooks'), tenantId, request)
}

const webhookChangePages: ReadonlyArray<DeclaredPage<any>> = [
  definePage({
    ...webhookPageBase,
    path: '/webhooks/:webhookId/roll',
    role: 'admin',
    title: 'Roll secret',
    show: ({ csrf, subject }) => <RollWebhookPage csrf={csrf} webhook={subject} />,
    actions: [{
      run: async (request, { id }) => await buildSecretOutcome(await request.controlService.rollWebhook(id), request)
    }]
  }),
  definePage({
    ...webhookPageBase,
    path: '/webhooks/:webhookId/remove',
    role: 'admin',
    title: 'Delete webhook',
    show: ({ csrf, subject }) => <DeleteWebhookPage csrf={csrf} webhook={subject} />,
    actions: [{
      run: async ({ controlService }, { id, tenantId }) => {
        await controlService.deleteWebhook(id)
        return { to: organizationPath(tenantId, 'webhooks'), message: 'Webhook deleted.' }
      }
    }]
  })
]

async function buildSecretOutcome ({ secret, ...webhook }: OwnedWebhook & NewWebhook, request: PageRequest) {
  const content = <WebhookSecretPage webhook={webhook} secret={secret} />
  return { title: 'Secret of the webhook', content, facts: await webhookPageBase.facts(webhook, request) }
}

async function showOne (
  { subject: webhook, request: { controlService, query, body }, csrf, mayChange, error }: PageView<OwnedWebhook>,
  now: Date
) {
  const before = queryParameter(query.before)
  const deliveries = await controlService.listDeliveries(webhook.id, {
    count: deliveriesPerPage, ...before !== undefined && { before }
  })
  const isOfSettings = error?.field !== undefined && error.field !== 'since'
  return (
    <WebhookPage
      csrf={csrf}
      webhook={webhook}
      deliveries={deliveries}
      mayChange={mayChange}
      typed={isOfSettings
        ? readWebhookForm(body)
        : { url: webhook.url, types: webhook.types.join(', '), description: webhook.description ?? '' }}
      since={(webhook.disabledAt ?? now.toISOString()).slice(0, 10)}
      error={error}
    />
  )
}

/** Both forms that take text are sent to the page on which they stand, so that a refused one can be reloaded. */
async function submit (request: PageRequest, webhook: OwnedWebhook) {
  const isResend = readFieldValues(request.body, 'since').length > 0
  return isResend ? await resend(request, webhook) : await save(request, webhook)
}

async function save ({ controlService, body }: PageRequest, { id }: OwnedWebhook) {
  const { url, types, description } = readWebhookForm(body)
  await controlService.changeWebhook(id, { url, types: parseEventTypes(types), description })
  return { to: webhookPath(id), message: 'Saved.' }
}

async function test ({ controlService }: PageRequest, { id }: OwnedWebhook) {
  await controlService.testWebhook(id)
  return { to: webhookPath(id), message: 'The test event is being sent. Reload this page to see what came of it.' }
}

async function change ({ controlService, body }: PageRequest, { id }: OwnedWebhook) {
  const { enabled } = await controlService.changeWebhook(id, { enabled: readField(body, 'enabled') === 'on' })
  return { to: webhookPath(id), message: enabled ? 'The webhook is on.' : 'The webhook is off. Its events wait.' }
}

async function resend ({ controlService, body }: PageRequest, { id }: OwnedWebhook) {
  const day = readField(body, 'since')
  if (!isDay(day)) throw new ControlError('invalid', 'Enter a date.', 'since')
  const { events } = await controlService.resendWebhook(id, `${day}T00:00:00Z`)
  return { to: webhookPath(id), message: `Sending again what happened since ${day}: ${events} events.` }
}

function readWebhookForm (body: unknown): WebhookFields {
  return {
    url: readField(body, 'url').trim(),
    types: readField(body, 'types'),
    description: readField(body, 'description')
  }
}

/** The types of events between commas or spaces. */
const parseEventTypes = (text: string): string[] => text.split(/[\s,]+/).filter(type => type !== '')

interface Confirmation { readonly csrf: string, readonly webhook: OwnedWebhook }

/** The confirmation page for deleting a webhook. */
function DeleteWebhookPage ({ csrf, webhook: { id, url } }: Confirmation) {
  return (
    <>
      <Heading title='Delete this webhook?' about={url} />
      <p>Nothing more is sent to it, and its deliveries are deleted. This cannot be undone.</p>
      <PostForm action={webhookPath(id, 'remove')} csrf={csrf}>
        <SubmitButton label='Delete webhook' cancel={webhookPath(id)} isDangerous />
      </PostForm>
    </>
  )
}

/** The confirmation page for a new secret. */
function RollWebhookPage ({ csrf, webhook: { id, url } }: Confirmation) {
  return (
    <>
      <Heading title='Roll the secret?' about={url} />
      <p>
        A new secret is shown once. For a day each event has two signatures, one of the old secret and one of the new,
        so that the receiver can change over without losing any.
      </p>
      <PostForm action={webhookPath(id, 'roll')} csrf={csrf}>
        <SubmitButton label='Roll secret' cancel={webhookPath(id)} />
      </PostForm>
    </>
  )
}

/** The page that shows a secret, once. */
function WebhookSecretPage (
  { webhook: { id, url }, secret }: { readonly webhook: OwnedWebhook, readonly secret: string }
) {
  return (
    <>
      <Heading title='The secret of the webhook' about={url} />
      <ShownOnce heading='Secret' text={secret} label='the secret' next={webhookPath(id)}>
        <p>The receiver verifies the signature of each event with it, by any library of Standard Webhooks.</p>
      </ShownOnce>
    </>
  )
}
