import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { modes, type Mode } from '../../../config/mode.js'
import { isDay } from '../../../time/iso-time.js'
import { ControlError } from '../../store/control-error.js'
import type { NewWebhook } from '../../../events/webhooks/webhook.js'
import type { OwnedWebhook } from '../../store/desk.js'
import { requireAdmin } from '../../store/permissions.js'
import { field, fieldValues, redisplayOnError, statusOf, toFormError } from '../form.js'
import {
  mayChange,
  organizationOf,
  organizationToChange,
  queryParameter,
  type OrganizationRequest
} from '../organization-requests.js'
import type { PageFacts } from '../page.js'
import { organizationPath, webhookPath } from '../paths.js'
import type { DashboardContext } from '../options.js'
import { DeleteWebhookPage, RollWebhookPage, WebhookSecretPage } from './confirm.js'
import { WebhooksPage, type WebhookFields } from './list.js'
import { WebhookPage } from './page.js'

interface WebhookRequest { Params: { readonly webhookId: string }, Querystring: OrganizationRequest['Querystring'] }

const deliveriesShown = 20

/** The pages of webhooks. */
export async function webhookPages (scope: FastifyInstance, { now }: DashboardContext): Promise<void> {
  const path = '/organizations/:tenantId/webhooks'
  scope.get<OrganizationRequest>(path, async (request, reply) => await showAll(request, reply))
  scope.post<OrganizationRequest>(path, async (request, reply) => {
    await organizationToChange(request)
    return await redisplayOnError(() => create(request, reply), refusal => showAll(request, reply, refusal))
  })
  const one = '/webhooks/:webhookId'
  scope.get<WebhookRequest>(one, async (request, reply) => await showOne(request, reply, { now }))
  for (const [page, deed] of [['', submit], ['/test', test], ['/switch', change]] as const) {
    scope.post<WebhookRequest>(one + page, async (request, reply) =>
      await redisplayOnError(() => deed(request, reply), refusal => showOne(request, reply, { now, refusal })))
  }
  scope.get<WebhookRequest>(`${one}/roll`, async (request, reply) =>
    await confirm(request, reply, { title: 'Roll secret', page: RollWebhookPage }))
  scope.get<WebhookRequest>(`${one}/remove`, async (request, reply) =>
    await confirm(request, reply, { title: 'Delete webhook', page: DeleteWebhookPage }))
  scope.post<WebhookRequest>(`${one}/roll`, async (request, reply) =>
    await showSecret(request, reply, await request.controlService.rollWebhook(request.params.webhookId)))
  scope.post<WebhookRequest>(`${one}/remove`, async (request, reply) => await remove(request, reply))
}

async function showAll (
  request: FastifyRequest<OrganizationRequest>, reply: FastifyReply, refusal?: ControlError
): Promise<FastifyReply> {
  const organization = await organizationOf(request)
  const { tenantId } = organization
  const { controlService, body } = request
  if (refusal !== undefined) reply.code(statusOf(refusal))
  return await reply.page(
    'Webhooks',
    <WebhooksPage
      csrf={reply.generateCsrf()}
      tenantId={tenantId}
      webhooks={await controlService.listWebhooks(tenantId)}
      mayChange={mayChange(request)}
      typed={refusal === undefined
        ? { url: '', types: '*', description: '' }
        : { ...typedIn(body), mode: field(body, 'mode') || undefined }}
      error={refusal && toFormError(refusal)}
    />,
    { organization }
  )
}

async function create (request: FastifyRequest<OrganizationRequest>, reply: FastifyReply): Promise<FastifyReply> {
  const { controlService, body, params: { tenantId } } = request
  const mode = field(body, 'mode') as Mode
  if (!modes.includes(mode)) throw new ControlError('invalid', 'Choose test or live.', 'mode')
  const { url, types, description } = typedIn(body)
  const made = await controlService.createWebhook({ tenantId, mode, url, types: listOf(types), description })
  return await showSecret(request, reply, made)
}

async function showSecret (
  request: Pick<FastifyRequest, 'controlService'>, reply: FastifyReply, { secret, ...webhook }: OwnedWebhook & NewWebhook
): Promise<FastifyReply> {
  return await reply.code(201).page(
    'Secret of the webhook',
    <WebhookSecretPage webhook={webhook} secret={secret} />,
    await factsOf(request, webhook)
  )
}

async function showOne (
  request: FastifyRequest<WebhookRequest>,
  reply: FastifyReply,
  { now, refusal }: Pick<DashboardContext, 'now'> & { readonly refusal?: ControlError }
): Promise<FastifyReply> {
  const { controlService, query, body } = request
  const webhook = await controlService.findWebhook(request.params.webhookId)
  const before = queryParameter(query.before)
  const deliveries = await controlService.listDeliveries(webhook.id, {
    count: deliveriesShown, ...before !== undefined && { before }
  })
  const isOfSettings = refusal?.field !== undefined && refusal.field !== 'since'
  if (refusal !== undefined) reply.code(statusOf(refusal))
  return await reply.page(
    'Webhook',
    <WebhookPage
      csrf={reply.generateCsrf()}
      webhook={webhook}
      deliveries={deliveries}
      mayChange={mayChange(request)}
      typed={isOfSettings
        ? typedIn(body)
        : { url: webhook.url, types: webhook.types.join(', '), description: webhook.description ?? '' }}
      since={(webhook.disabledAt ?? now().toISOString()).slice(0, 10)}
      error={refusal && toFormError(refusal)}
    />,
    await factsOf(request, webhook)
  )
}

type WebhookDeed = FastifyRequest<WebhookRequest>

/** Both forms that take text are sent to the page on which they stand, so that a refused one can be reloaded. */
async function submit (request: WebhookDeed, reply: FastifyReply): Promise<FastifyReply> {
  const isResend = fieldValues(request.body, 'since').length > 0
  return isResend ? await resend(request, reply) : await save(request, reply)
}

async function save ({ controlService, body, params }: WebhookDeed, reply: FastifyReply): Promise<FastifyReply> {
  const { url, types, description } = typedIn(body)
  await controlService.changeWebhook(params.webhookId, { url, types: listOf(types), description })
  return reply.done(webhookPath(params.webhookId), 'Saved.')
}

async function test ({ controlService, params }: WebhookDeed, reply: FastifyReply): Promise<FastifyReply> {
  await controlService.testWebhook(params.webhookId)
  return reply.done(
    webhookPath(params.webhookId), 'The test event is being sent. Reload this page to see what came of it.'
  )
}

async function change ({ controlService, body, params }: WebhookDeed, reply: FastifyReply): Promise<FastifyReply> {
  const { enabled } = await controlService.changeWebhook(params.webhookId, { enabled: field(body, 'enabled') === 'on' })
  return reply.done(
    webhookPath(params.webhookId), enabled ? 'The webhook is on.' : 'The webhook is off. Its events wait.'
  )
}

async function resend ({ controlService, body, params }: WebhookDeed, reply: FastifyReply): Promise<FastifyReply> {
  const day = field(body, 'since')
  if (!isDay(day)) throw new ControlError('invalid', 'Enter a date.', 'since')
  const { events } = await controlService.resendWebhook(params.webhookId, `${day}T00:00:00Z`)
  return reply.done(webhookPath(params.webhookId), `Sending again what happened since ${day}: ${events} events.`)
}

async function confirm (
  { controlService, params }: WebhookDeed,
  reply: FastifyReply,
  { title, page: Page }: { readonly title: string, readonly page: typeof RollWebhookPage }
): Promise<FastifyReply> {
  const webhook = await controlService.findWebhook(params.webhookId)
  requireAdmin(controlService.actor)
  return await reply.page(
    title, <Page csrf={reply.generateCsrf()} webhook={webhook} />, await factsOf({ controlService }, webhook)
  )
}

async function remove ({ controlService, params }: WebhookDeed, reply: FastifyReply): Promise<FastifyReply> {
  const { tenantId } = await controlService.findWebhook(params.webhookId)
  await controlService.deleteWebhook(params.webhookId)
  return reply.done(organizationPath(tenantId, 'webhooks'), 'Webhook deleted.')
}

async function factsOf (
  { controlService }: Pick<FastifyRequest, 'controlService'>, { tenantId }: OwnedWebhook
): Promise<PageFacts> {
  return {
    under: organizationPath(tenantId, 'webhooks'),
    organization: await controlService.findOrganization(tenantId)
  }
}

function typedIn (body: unknown): WebhookFields {
  return { url: field(body, 'url').trim(), types: field(body, 'types'), description: field(body, 'description') }
}

/** The types of events between commas or spaces. */
const listOf = (text: string): string[] => text.split(/[\s,]+/).filter(type => type !== '')
