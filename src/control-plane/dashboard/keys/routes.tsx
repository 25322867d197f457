import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { setTimeout as pause } from 'node:timers/promises'
import { newIdempotencyToken } from '../../store/context.js'
import type { ControlService } from '../../store/desk.js'
import type { KeyPropagation } from '../../store/gateway-store.js'
import type { Key } from '../../store/keys.js'
import { requireAdmin } from '../../store/permissions.js'
import { ControlError } from '../../store/control-error.js'
import { resourceChoiceIn, scopesIn } from './resource-scopes.js'
import type { Mode } from '../../../config/mode.js'
import { field, redisplayOnError, statusOf, toFormError } from '../form.js'
import { keyListing, KeysPage } from './list.js'
import { NewKeyPage } from './new.js'
import { KeyPage } from './page.js'
import { isPending, PropagationPage } from './propagation.js'
import { RenamePage } from './rename.js'
import { RevokePage } from './revoke.js'
import { overlaps, RollPage } from './roll.js'
import { SecretPage } from './secret.js'
import { endOfLastDay } from '../usage/last-day.js'
import { mayChange, organizationOf, organizationToChange, type OrganizationRequest } from '../organization-requests.js'
import type { PageFacts } from '../page.js'
import { keyPath, organizationPath } from '../paths.js'
import type { DashboardContext } from '../options.js'

interface KeyRequest { Params: { readonly keyId: string } }

/** The pages of keys. */
export async function keyRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  scope.get<OrganizationRequest>(
    '/organizations/:tenantId/keys',
    async (request, reply) => await showAll(request, reply, parts)
  )
  scope.get<OrganizationRequest>(
    '/organizations/:tenantId/keys/new',
    async (request, reply) => await showForm(request, reply, parts)
  )
  scope.post<OrganizationRequest>('/organizations/:tenantId/keys/new', async (request, reply) => {
    await organizationToChange(request)
    return await redisplayOnError(
      () => create(request, reply, parts),
      refusal => createAgain(request, reply, { refusal, parts })
    )
  })
  scope.get<KeyRequest>('/keys/:keyId', async (request, reply) => await showOne(request, reply, { parts }))
  await scope.register(keyChanges, parts)
}

async function keyChanges (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  scope.get<KeyRequest>(
    '/keys/:keyId/rename',
    async (request, reply) => await renderConfirmation(request, reply, { title: 'Rename key', page: RenamePage })
  )
  scope.post<KeyRequest>(
    '/keys/:keyId/rename',
    async (request, reply) =>
      await redisplayOnError(
        () => rename(request, reply),
        refusal => renameAgain(request, reply, refusal)
      )
  )
  scope.get<KeyRequest>(
    '/keys/:keyId/roll',
    async (request, reply) => await renderConfirmation(request, reply, { title: 'Roll key', page: RollPage })
  )
  scope.post<KeyRequest>('/keys/:keyId/roll', async (request, reply) => await roll(request, reply, parts))
  scope.get<KeyRequest>(
    '/keys/:keyId/revoke',
    async (request, reply) => await renderConfirmation(request, reply, { title: 'Revoke key', page: RevokePage })
  )
  scope.post<KeyRequest>('/keys/:keyId/revoke', async ({ controlService, params }, reply) =>
    reply.done(keyPath((await controlService.revokeKey(params.keyId)).keyId, 'reach'))
  )
  scope.post<KeyRequest>(
    '/keys/:keyId',
    async (request, reply) =>
      await redisplayOnError(
        () => expire(request, reply),
        refusal => showOne(request, reply, { parts, refusal })
      )
  )
  scope.get<KeyRequest>('/keys/:keyId/reach', async (request, reply) => await showReach(request, reply))
}

async function showAll (
  request: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply,
  { now }: DashboardContext
): Promise<FastifyReply> {
  const organization = await organizationOf(request)
  const { tenantId } = organization
  const keys = await request.controlService.listKeys(tenantId)
  return await reply.page(
    'Keys',
    <KeysPage
      tenantId={tenantId}
      listing={keyListing(keys.reverse(), now(), request.query)}
      mayChange={mayChange(request)}
    />,
    { organization }
  )
}

async function showForm (
  request: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply,
  { now }: DashboardContext
): Promise<FastifyReply> {
  const organization = await organizationToChange(request)
  return await reply.page(
    'New key',
    <NewKeyPage
      csrf={reply.generateCsrf()}
      once={newIdempotencyToken()}
      tenantId={organization.tenantId}
      now={now()}
    />,
    { organization }
  )
}

async function create (
  request: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply,
  { gatewayUrl }: DashboardContext
): Promise<FastifyReply> {
  const {
    controlService,
    body,
    params: { tenantId }
  } = request
  const [name, mode] = [field(body, 'name'), field(body, 'mode') as Mode]
  const scopes = scopesIn(body)
  const made = await controlService.createKey({
    tenantId,
    name,
    mode,
    scopes,
    expiresAt: endOfLastDay(field(body, 'lastDay')),
    once: field(body, 'once')
  })
  return await reply
    .code(201)
    .page(
      'Key created',
    <SecretPage
      keyId={made.keyId}
      name={name.trim()}
      mode={mode}
      scopes={scopes}
      secret={made.secret}
      gatewayUrl={gatewayUrl}
    />,
    { organization: await organizationOf(request) }
    )
}

async function createAgain (
  request: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply,
  { refusal, parts }: { readonly refusal: ControlError; readonly parts: DashboardContext }
): Promise<FastifyReply> {
  if (refusal.reason === 'conflict') throw refusal
  const organization = await organizationOf(request)
  const { body } = request
  const form = {
    csrf: reply.generateCsrf(),
    once: newIdempotencyToken(),
    tenantId: organization.tenantId,
    now: parts.now(),
    error: toFormError(refusal)
  }
  const confirmation = {
    name: field(body, 'name'),
    mode: field(body, 'mode'),
    scopes: field(body, 'scopes'),
    resources: resourceChoiceIn(body),
    lastDay: field(body, 'lastDay')
  }
  return await reply
    .code(statusOf(refusal))
    .page('New key', <NewKeyPage {...form} {...confirmation} />, { organization })
}

async function showOne (
  request: FastifyRequest<KeyRequest>,
  reply: FastifyReply,
  { parts, refusal }: { readonly parts: DashboardContext; readonly refusal?: ControlError }
): Promise<FastifyReply> {
  const key = await request.controlService.findKey(request.params.keyId)
  const facts = await factsOf(request.controlService, key)
  const form = {
    csrf: reply.generateCsrf(),
    lastDay: field(request.body, 'lastDay'),
    error: refusal && toFormError(refusal)
  }
  if (refusal !== undefined) reply.code(statusOf(refusal))
  return await reply.page(
    key.name,
    <KeyPage {...form} shown={key} now={parts.now()} mayChange={mayChange(request)} />,
    facts
  )
}

/** The layout's content on a page about a key. */
async function factsOf (controlService: ControlService, { tenantId }: Pick<Key, 'tenantId'>): Promise<PageFacts> {
  return { organization: await controlService.findOrganization(tenantId), under: organizationPath(tenantId, 'keys') }
}

interface Question {
  readonly title: string
  readonly page: (request: { readonly csrf: string; readonly shown: Key }) => JSX.Element
}

/** Shows the confirmation page of an action on a key. */
async function renderConfirmation (
  { controlService, params }: FastifyRequest<KeyRequest>,
  reply: FastifyReply,
  { title, page: Page }: Question
): Promise<FastifyReply> {
  const key = await controlService.findKey(params.keyId)
  requireAdmin(controlService.actor)
  return await reply.page(title, <Page csrf={reply.generateCsrf()} shown={key} />, await factsOf(controlService, key))
}

async function rename (
  { controlService, params, body }: FastifyRequest<KeyRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { keyId } = await controlService.changeKey(params.keyId, { name: field(body, 'name') })
  return reply.done(keyPath(keyId), 'Key renamed.')
}

async function renameAgain (
  request: FastifyRequest<KeyRequest>,
  reply: FastifyReply,
  refusal: ControlError
): Promise<FastifyReply> {
  const Again = ({ csrf, shown }: { readonly csrf: string; readonly shown: Key }) => (
    <RenamePage csrf={csrf} shown={shown} name={field(request.body, 'name')} error={toFormError(refusal)} />
  )
  return await renderConfirmation(request, reply.code(statusOf(refusal)), { title: 'Rename key', page: Again })
}

async function roll (
  { controlService, params, body }: FastifyRequest<KeyRequest>,
  reply: FastifyReply,
  { gatewayUrl }: DashboardContext
): Promise<FastifyReply> {
  const made = await controlService.rollKey(params.keyId, overlapMs(field(body, 'overlap')))
  const { previous } = made
  const shown = {
    keyId: made.keyId,
    name: previous.name,
    mode: previous.mode,
    scopes: previous.scopes,
    secret: made.secret,
    gatewayUrl,
    previous: { keyId: previous.keyId, expiresAt: previous.revokedAt === undefined ? previous.expiresAt : undefined }
  }
  return await reply.code(201).page('Key rolled', <SecretPage {...shown} />, await factsOf(controlService, previous))
}

/** A choice that is not offered is no time at all, which the control plane refuses. */
function overlapMs (choice: string): number {
  return Object.hasOwn(overlaps, choice) ? overlaps[choice]!.ms : NaN
}

async function expire (
  { controlService, params, body }: FastifyRequest<KeyRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  await controlService.findKey(params.keyId)
  requireAdmin(controlService.actor)
  const end = endOfLastDay(field(body, 'lastDay'))
  if (end === undefined) throw new ControlError('invalid', 'Choose the last day of the key.', 'expiresAt')
  const { keyId } = await controlService.changeKey(params.keyId, { expiresAt: end })
  return reply.done(keyPath(keyId), 'Last day set.')
}

async function showReach (
  { controlService, params }: FastifyRequest<KeyRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const key = await controlService.findKey(params.keyId)
  const facts = await factsOf(controlService, key)
  const reach = await settledReach(controlService, key.keyId)
  return await reply.page('State on each gateway', <PropagationPage shown={key} reach={reach} />, facts)
}

/** Gateways apply a change within a second, so that a page requested immediately afterwards shows the final state. */
async function settledReach (controlService: ControlService, keyId: string): Promise<KeyPropagation> {
  let reach = await controlService.reachOfKey(keyId)
  for (let looks = 0; looks < 20 && isPending(reach); looks++) {
    await pause(75)
    reach = await controlService.reachOfKey(keyId)
  }
  return reach
}
