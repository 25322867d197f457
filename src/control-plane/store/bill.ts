import type { Kysely } from 'kysely'
import { isMonth } from '../../limits/month.js'
import { overageAmount } from '../../limits/overage.js'
import { ControlError } from './control-error.js'
import type { Tables } from './tables.js'

/** Usage and its cost. Amounts are exact decimals in USD, such as `12.345`. */
interface Charge {
  /** Live requests that count against the monthly quota. */
  readonly counted: number
  /** Those above the quota, as decided when each request arrived. */
  readonly overage: number
  readonly amount: string
}

/** The charges of an organization for a month in UTC, by hour. Hours without requests are absent. */
export interface Bill extends Charge {
  readonly tenantId: string
  /** `2030-01` */
  readonly month: string
  readonly currency: 'USD'
  readonly hours: ReadonlyArray<Charge & { readonly hour: string }>
}

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
  const hours = rows.map(({ hour, counted, overage }) => ({ hour, ...charge(Number(counted), Number(overage)) }))
  const sum = (name: 'counted' | 'overage') => hours.reduce((total, hour) => total + hour[name], 0)
  return { tenantId, month, currency: 'USD', ...charge(sum('counted'), sum('overage')), hours }
}

/** The bill as CSV (RFC 4180): one line per hour and one for the total. */
export function billCsv ({ month, hours, ...full }: Bill): string {
  const line = (name: string, { counted, overage, amount }: Charge) => [name, counted, overage, amount].join(',')
  return [
    'hour,counted,overage,amount_usd',
    ...hours.map(({ hour, ...charge }) => line(hour, charge)),
    line(month, full),
    ''
  ].join('\r\n')
}

function charge (counted: number, overage: number): Charge {
  return { counted, overage, amount: overageAmount(overage) }
}
