import { Type, type Static } from 'typebox'
import type { Kysely } from 'kysely'
import type { DeepReadonly } from '../../config/schema.js'
import { isMonth } from '../../limits/month.js'
import { ControlError } from './control-error.js'
import { dateTimeSchema as time, entitySchema, tenantIdSchema } from './entity-schema.js'
import type { Tables } from './tables.js'

/** The price of one request above the monthly quota, in thousandths of a US dollar. */
const millsPerRequest = 3n

/** The price of `overage` requests above the monthly quota in USD, as an exact decimal such as `12.345`. */
export function calculateOverageAmount (overage: number): string {
  const mills = BigInt(overage) * millsPerRequest
  return `${mills / 1_000n}.${String(mills % 1_000n).padStart(3, '0')}`
}

const chargeMembers = {
  counted: Type.Integer({ description: 'Billable live requests' }),
  /** As decided when each request arrived. */
  overage: Type.Integer({ description: 'Of these, the ones beyond the monthly quota' }),
  amount: Type.String({ description: 'Their cost, an exact decimal such as 12.345' })
}

/** The schema of a {@link Bill}. */
export const billSchema = entitySchema({
  tenantId: tenantIdSchema,
  /** `2030-01` */
  month: Type.String(),
  currency: Type.Literal('USD'),
  ...chargeMembers,
  hours: Type.Array(entitySchema({ hour: time('When the hour began'), ...chargeMembers }))
})

/** Usage and its cost. */
type Charge = Pick<Bill, keyof typeof chargeMembers>

/** The charges of an organization for a month in UTC, by hour. Hours without requests are absent. */
export type Bill = DeepReadonly<Static<typeof billSchema>>

/** The bill of a month. It never contains test requests. @throws {ControlError} if `month` is not a month */
export async function buildBill (db: Kysely<Tables>, tenantId: string, month: string): Promise<Bill> {
  if (!isMonth(month)) throw new ControlError('invalid', 'Use the form 2030-01 for a month.')
  const rows = await db
    .selectFrom('usageHours')
    .where('tenantId', '=', tenantId)
    .where('mode', '=', 'live')
    .where('isCounted', '=', 1)
    .where('hour', '>=', month)
    .where('hour', '<', `${month}-99`)
    .select(eb => [
      'hour',
      eb.fn.sum('count').as('counted'),
      eb.fn.sum(eb('count', '*', eb.ref('isOverage'))).as('overage')
    ])
    .groupBy('hour')
    .orderBy('hour')
    .execute()
  const hours = rows.map(({ hour, counted, overage }) => ({ hour, ...toCharge(Number(counted), Number(overage)) }))
  const sum = (name: 'counted' | 'overage') => hours.reduce((total, hour) => total + hour[name], 0)
  return { tenantId, month, currency: 'USD', ...toCharge(sum('counted'), sum('overage')), hours }
}

/** The bill as CSV (RFC 4180): one line per hour and one for the total. */
export function formatBillCsv ({ month, hours, ...full }: Bill): string {
  const formatRow = (name: string, { counted, overage, amount }: Charge) => [name, counted, overage, amount].join(',')
  return [
    'hour,counted,overage,amount_usd',
    ...hours.map(({ hour, ...charge }) => formatRow(hour, charge)),
    formatRow(month, full),
    ''
  ].join('\r\n')
}

function toCharge (counted: number, overage: number): Charge {
  return { counted, overage, amount: calculateOverageAmount(overage) }
}
