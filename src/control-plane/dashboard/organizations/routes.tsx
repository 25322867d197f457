import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { newIdempotencyToken } from '../../store/context.js'
import type { Organization } from '../../store/organizations.js'
import { requireOperator } from '../../store/permissions.js'
import type { ControlError } from '../../store/control-error.js'
import type { UsageTotal } from '../../store/usage-totals.js'
import { startOfMonth, monthOf } from '../../../limits/month.js'
import { field, redisplayOnError, statusOf, toFormError } from '../form.js'
import { listingOf } from '../listing.js'
import { mayChange, operatorsOnly, organizationOf, type OrganizationRequest } from '../organization-requests.js'
import { OrganizationsPage } from './list.js'
import { NewOrganizationPage } from './new.js'
import { previousValueField, OverviewPage } from './overview.js'
import { organizationPath } from '../paths.js'
import type { DashboardContext } from '../options.js'
import type { Config } from '../../../config/schema.js'

/** The pages of organizations: the list and the form for operators, the overview for their people. */
export async function organizationRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  const { plans } = parts
  scope.get<Pick<OrganizationRequest, 'Querystring'>>(
    '/organizations',
    async (request, reply) => await showAll(request, reply, parts)
  )
  scope.get(
    '/organizations/new',
    { onRequest: operatorsOnly },
    async (_, reply) =>
      await reply.page(
        'New organization',
        <NewOrganizationPage csrf={reply.generateCsrf()} once={newIdempotencyToken()} plans={plans} />
      )
  )
  scope.post(
    '/organizations/new',
    async (request, reply) =>
      await redisplayOnError(
        () => create(request, reply),
        refusal => createAgain(request, reply, { refusal, parts })
      )
  )
  scope.get<OrganizationRequest>(
    '/organizations/:tenantId',
    async (request, reply) => await showOne(request, reply, { parts })
  )
  scope.post<OrganizationRequest>(
    '/organizations/:tenantId',
    async (request, reply) =>
      await redisplayOnError(
        () => change(request, reply),
        refusal => showOne(request, reply, { parts, refusal })
      )
  )
  scope.post<OrganizationRequest>(
    '/organizations/:tenantId/overage',
    async (request, reply) => await switchOverage(request, reply)
  )
}

async function showAll (
  { controlService, member, query }: FastifyRequest<Pick<OrganizationRequest, 'Querystring'>>,
  reply: FastifyReply,
  { plans }: DashboardContext
): Promise<FastifyReply> {
  if (member.tenantId !== undefined) return reply.redirect(organizationPath(member.tenantId), 303)
  const [organizations, counts] = await Promise.all([
    controlService.listOrganizations(),
    controlService.countActiveKeys()
  ])
  const listed = organizations.map(one => ({ ...one, keys: counts.get(one.tenantId) ?? 0 }))
  return await reply.page(
    'Organizations',
    <OrganizationsPage plans={plans} listing={listingOf(listed, ({ name, tenantId }) => [name, tenantId], query)} />
  )
}

async function create ({ controlService, body }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { tenantId, name } = await controlService.createOrganization({
    name: field(body, 'name'),
    plan: field(body, 'plan'),
    once: field(body, 'once')
  })
  return reply.done(organizationPath(tenantId), `Organization “${name}” created.`)
}

async function createAgain (
  { body }: FastifyRequest,
  reply: FastifyReply,
  { refusal, parts }: { readonly refusal: ControlError; readonly parts: DashboardContext }
): Promise<FastifyReply> {
  if (refusal.reason === 'conflict') throw refusal
  const form = {
    csrf: reply.generateCsrf(),
    once: newIdempotencyToken(),
    plans: parts.plans,
    name: field(body, 'name'),
    plan: field(body, 'plan'),
    error: toFormError(refusal)
  }
  return await reply.code(statusOf(refusal)).page('New organization', <NewOrganizationPage {...form} />)
}

async function showOne (
  request: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply,
  { parts, refusal }: { readonly parts: DashboardContext; readonly refusal?: ControlError }
): Promise<FastifyReply> {
  const organization = await organizationOf(request)
  const { tenantId, plan } = organization
  const { plans, now, routing } = parts
  const [keys, use, webhooks] = await Promise.all([
    request.controlService.listKeys(tenantId),
    useUntil(request, tenantId, now()),
    request.controlService.listWebhooks(tenantId)
  ])
  const overview = {
    csrf: reply.generateCsrf(),
    organization,
    plans,
    plan: Object.hasOwn(plans, plan) ? plans[plan] : undefined,
    datastores: datastoresOf(organization, routing),
    ...use,
    now: now(),
    hasKeys: keys.length > 0,
    hasDisabledWebhook: webhooks.some(({ disabledReason }) => disabledReason !== undefined),
    mayChange: mayChange(request),
    isOperator: request.member.role === 'operator',
    ...(refusal === undefined
      ? { typed: organization, before: organization }
      : { typed: typedIn(request), before: typedIn(request, previousValueField) }),
    error: refusal && toFormError(refusal)
  }
  if (refusal !== undefined) reply.code(statusOf(refusal))
  return await reply.page('Overview', <OverviewPage {...overview} />, { organization })
}

/** The requests of live keys today and in this month, in UTC. */
async function useUntil (
  { controlService }: FastifyRequest,
  tenantId: string,
  now: Date
): Promise<{ readonly today: UsageTotal; readonly month: UsageTotal }> {
  const day = new Date(`${now.toISOString().slice(0, 10)}T00:00:00Z`)
  const to = new Date(now.getTime() + 1)
  const [today, month] = await Promise.all(
    [day, startOfMonth(monthOf(now.toISOString()))].map(
      async from => (await controlService.usage({ tenantId, mode: 'live', from, to })).totals[0]!
    )
  )
  return { today: today!, month: month! }
}

/** The values in the form, or with the other names its previous values. */
function typedIn (
  { body }: Pick<FastifyRequest, 'body'>,
  nameOf = (name: string): string => name
): { readonly name: string; readonly plan: string; readonly datastore: string } {
  const read = (name: string) => field(body, nameOf(name))
  return { name: read('name'), plan: read('plan'), datastore: read('datastore').trim() }
}

/**
 * Changes only what differs from the form's previous values: all else may have been changed meanwhile by another
 * person, whose change must not be overwritten.
 */
async function change (request: FastifyRequest<OrganizationRequest>, reply: FastifyReply): Promise<FastifyReply> {
  const { tenantId } = await organizationOf(request)
  requireOperator(request.controlService.actor)
  const before = typedIn(request, previousValueField)
  const differing = Object.entries(typedIn(request)).filter(
    ([name, value]) => value !== before[name as keyof typeof before]
  )
  const changes = Object.fromEntries(
    differing.map(([name, value]) => [name, name === 'datastore' && value === '' ? null : value])
  )
  if (differing.length > 0) await request.controlService.changeOrganization(tenantId, changes)
  return reply.done(organizationPath(tenantId), 'Saved.')
}

async function switchOverage (
  { controlService, body, params }: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { tenantId, overage }: Organization = await controlService.changeOrganization(params.tenantId, {
    overage: field(body, 'overage') === 'on'
  })
  return reply.done(organizationPath(tenantId), overage ? 'Overage is on.' : 'Overage is off.')
}

/**
 * The names of the datastores that an organization's keys open; `live` is undefined where a dedicated one is missing,
 * as gateways see it that are configured like this process.
 */
function datastoresOf (
  { tenantId, plan, datastore }: Organization,
  { test, live, dedicated }: Config['routing']
): { readonly test: string; readonly live: string | undefined } {
  if (plan !== 'enterprise') return { test, live }
  return { test, live: (Object.hasOwn(dedicated, tenantId) ? dedicated[tenantId] : undefined) ?? datastore }
}
