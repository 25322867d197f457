import type { FastifyInstance, FastifyReply } from 'fastify'
import { formatBillCsv } from '../../store/bill.js'
import { startOfMonth, toMonth } from '../../../limits/month.js'
import { modes, type Mode } from '../../../config/mode.js'
import {
  organizationPageBase, definePage, queryParameter, type DeclaredPage, type PageRequest
} from '../declared-page.js'
import type { DashboardContext } from '../options.js'
import { parseQueryMonth } from '../format.js'
import { UsagePage } from './page.js'

/** The page of an organization's usage. */
export const usagePages = ({ now }: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  definePage({
    ...organizationPageBase,
    path: '/organizations/:tenantId/usage',
    title: 'Usage',
    show: async ({ subject: { tenantId }, request }) => await show(request, tenantId, now())
  })
]

/** The bill of an organization, which is a file and no page. */
export async function billRoute (scope: FastifyInstance, { now }: DashboardContext): Promise<void> {
  scope.get('/organizations/:tenantId/bill', async (request, reply) =>
    await download(request as PageRequest, reply, now()))
}

/** The bill of a month as a file: for a spreadsheet, or as JSON. */
async function download (
  { controlService, params, query }: PageRequest,
  reply: FastifyReply,
  now: Date
): Promise<FastifyReply> {
  const month = parseQueryMonth(queryParameter(query.month), now)
  const bill = await controlService.getBill(params.tenantId, month)
  const [type, text] =
    query.format === 'json' ? ['application/json', JSON.stringify(bill, null, 2)] : ['text/csv', formatBillCsv(bill)]
  const name = `bill-${month}.${query.format === 'json' ? 'json' : 'csv'}`
  return await reply
    .type(`${type}; charset=utf-8`)
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(text)
}

async function show (request: PageRequest, tenantId: string, now: Date) {
  const { controlService, query } = request
  const month = parseQueryMonth(queryParameter(query.month), now)
  const time = { tenantId, from: startOfMonth(month), to: startOfMonth(month, 1) }
  const mode = await resolveMode(request, time)
  const [days, keys, resources, named] = await Promise.all([
    controlService.getUsage({ ...time, mode, by: 'day' }),
    controlService.getUsage({ ...time, mode, per: 'keyId' }),
    controlService.getUsage({ ...time, mode, per: 'resource' }),
    controlService.listKeys(tenantId)
  ])
  return (
    <UsagePage
      tenantId={tenantId}
      month={month}
      thisMonth={toMonth(now.toISOString())}
      mode={mode}
      days={days.totals}
      keys={keys.totals}
      resources={resources.totals}
      known={new Map(named.map(key => [key.keyId, key]))}
    />
  )
}

/** The selected mode; without a selection the live one, unless only test keys were used. */
async function resolveMode (
  { controlService, query }: PageRequest,
  time: { readonly tenantId: string; readonly from: Date; readonly to: Date }
): Promise<Mode> {
  const requested = modes.find(mode => mode === query.mode)
  if (requested !== undefined) return requested
  const [test, live] = await Promise.all(
    modes.map(async mode => (await controlService.getUsage({ ...time, mode })).totals[0]?.requests ?? 0)
  )
  return live === 0 && test !== 0 ? 'test' : 'live'
}
