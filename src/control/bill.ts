import type { Kysely } from 'kysely'
import { isMonth } from '../limits/month.js'
import { amountOf } from '../limits/overage.js'
import { ControlRefused } from './refused.js'
import type { Tables } from './tables.js'

/** What was used and what it costs; amounts are exact decimals such as `12.345`. */
interface Charge {
  /** Live requests that counted. */
  readonly counted: number
  /** Those of them that came past the allowance, as was decided when each came in. */
  readonly overage: number
  readonly amount: string
}

/** What an organization owes for a month, in UTC, down to the hour; hours without a request are left out. */
export interface Bill extends Charge {
  readonly tenantId: string
  /** `2030-01` */
  readonly month: string
  readonly currency: 'USD'
  readonly hours: ReadonlyArray<Charge & { readonly hour: string }>
}

/** The bill of a month; test traffic is never on it. @throws {ControlRefused} for a month that is none */
export async function billOf (db: Kysely<Tables>, tenantId: string, month: string): Promise<Bill> {
  if (!isMonth(month)) throw new ControlRefused('invalid', 'Use the form 2030-01 for a month.')
  const rows = await db.selectFrom('usageHours')
    .where('tenantId', '=', tenantId).where('mode', '=', 'live').where('isCounted', '=', 1)
    .where('hour', '>=', month).where('hour', '<', `${month}-99`)
    .select(eb => ['hour', eb.fn.sum('count').as('counted'), eb.fn.sum(eb('count', '*', eb.ref('isOverage'))).as('overage')])
    .groupBy('hour').orderBy('hour').execute()
  const hours = rows.map(({ hour, counted, overage }) => ({ hour, ...charge(Number(counted), Number(overage)) }))
  const sum = (name: 'counted' | 'overage') => hours.reduce((total, hour) => total + hour[name], 0)
  return { tenantId, month, currency: 'USD', ...charge(sum('counted'), sum('overage')), hours }
}

/** A bill for a spreadsheet: a line an hour and one for the whole, RFC 4180. */
export function billCsv ({ month, hours, ...whole }: Bill): string {
  const line = (name: string, { counted, overage, amount }: Charge) => [name, counted, overage, amount].join(',')
  return ['hour,counted,overage,amount_usd', ...hours.map(({ hour, ...charge }) => line(hour, charge)), line(month, whole), ''].join('\r\n')
}

function charge (counted: number, overage: number): Charge {
  return { counted, overage, amount: amountOf(overage) }
}
