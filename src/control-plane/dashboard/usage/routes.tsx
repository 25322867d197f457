import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { billCsv } from '../../store/bill.js'
import { startOfMonth, monthOf } from '../../../limits/month.js'
import { modes, type Mode } from '../../../config/mode.js'
import { organizationOf, queryParameter, type OrganizationRequest } from '../organization-requests.js'
import type { DashboardContext } from '../options.js'
import { monthIn } from './month.js'
import { UsagePage } from './page.js'

/** The page of an organization's usage. */
export async function usageRoutes (scope: FastifyInstance, { now }: DashboardContext): Promise<void> {
  scope.get<OrganizationRequest>(
    '/organizations/:tenantId/usage',
    async (request, reply) => await show(request, reply, now())
  )
  scope.get<OrganizationRequest>(
    '/organizations/:tenantId/bill',
    async (request, reply) => await download(request, reply, now())
  )
}

/** The bill of a month as a file: for a spreadsheet, or as JSON. */
async function download (
  { controlService, params, query }: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply,
  now: Date
): Promise<FastifyReply> {
  const month = monthIn(queryParameter(query.month), now)
  const bill = await controlService.bill(params.tenantId, month)
  const [type, text] =
    query.format === 'json' ? ['application/json', JSON.stringify(bill, null, 2)] : ['text/csv', billCsv(bill)]
  const name = `bill-${month}.${query.format === 'json' ? 'json' : 'csv'}`
  return await reply
    .type(`${type}; charset=utf-8`)
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(text)
}

async function show (
  request: FastifyRequest<OrganizationRequest>,
  reply: FastifyReply,
  now: Date
): Promise<FastifyReply> {
  const organization = await organizationOf(request)
  const { controlService, query } = request
  const { tenantId } = organization
  const month = monthIn(queryParameter(query.month), now)
  const time = { tenantId, from: startOfMonth(month), to: startOfMonth(month, 1) }
  const mode = await modeOf(request, time)
  const [days, keys, resources, named] = await Promise.all([
    controlService.usage({ ...time, mode, by: 'day' }),
    controlService.usage({ ...time, mode, per: 'keyId' }),
    controlService.usage({ ...time, mode, per: 'resource' }),
    controlService.listKeys(tenantId)
  ])
  const usage = {
    tenantId,
    month,
    thisMonth: monthOf(now.toISOString()),
    mode,
    days: days.totals,
    keys: keys.totals,
    resources: resources.totals
  }
  return await reply.page('Usage', <UsagePage {...usage} known={new Map(named.map(key => [key.keyId, key]))} />, {
    organization
  })
}

/** The selected mode; without a selection the live one, unless only test keys were used. */
async function modeOf (
  { controlService, query }: FastifyRequest<OrganizationRequest>,
  time: { readonly tenantId: string; readonly from: Date; readonly to: Date }
): Promise<Mode> {
  const requested = modes.find(mode => mode === query.mode)
  if (requested !== undefined) return requested
  const [test, live] = await Promise.all(
    modes.map(async mode => (await controlService.usage({ ...time, mode })).totals[0]?.requests ?? 0)
  )
  return live === 0 && test !== 0 ? 'test' : 'live'
}
