import { sql, type ExpressionBuilder, type Kysely } from 'kysely'
import { Type, type Static } from 'typebox'
import type { DeepReadonly } from '../../config/schema.js'
import type { UsageOutcome } from '../../limits/usage.js'
import { ControlError } from './control-error.js'
import { dateTimeSchema as time, entitySchema } from './entity-schema.js'
import { keySchema } from './keys.js'
import type { Tables } from './tables.js'

/** The periods by which usage can be summed, in UTC. */
const usagePeriods = ['hour', 'day', 'month'] as const
type UsagePeriod = typeof usagePeriods[number]

/** The dimensions that usage can be broken down by. */
const usageBreakdowns = ['keyId', 'resource', 'interaction'] as const

/** The schema of a request's query for usage. */
export const usageQuerySchema = entitySchema({
  from: Type.String({ description: 'Time in the first period, in ISO 8601 with a time zone', format: 'date-time' }),
  to: Type.String({
    description: 'End of the time range, exclusive; the last period contains the moment before it',
    format: 'date-time'
  }),
  by: Type.Optional(Type.Enum(usagePeriods, { description: 'If absent, one total for the whole time range' })),
  /** If absent, test and live are summed. */
  mode: Type.Optional(keySchema.properties.mode),
  keyId: Type.Optional(Type.String({ maxLength: 64 })),
  per: Type.Optional(Type.Enum(usageBreakdowns, { description: 'A separate total for each' }))
})

/** Which usage of an organization to sum. */
export type UsageQuery = Readonly<Omit<Static<typeof usageQuerySchema>, 'from' | 'to'>> & {
  readonly tenantId: string
  readonly from: Date
  readonly to: Date
}

const usageTotal = entitySchema({
  /** Without periods, of the first hour. */
  from: time('When the period begins'),
  of: Type.Optional(Type.String({ description: 'Which key, resource or interaction' })),
  requests: Type.Integer({ minimum: 0 }),
  ok: Type.Integer({ minimum: 0 }),
  errors: Type.Integer({ minimum: 0, description: 'Client errors' }),
  refused: Type.Integer({ minimum: 0, description: 'Refused because of scope, rate limit or quota' }),
  failed: Type.Integer({ minimum: 0, description: 'Failed because of the gateway or the datastore' }),
  counted: Type.Integer({ minimum: 0, description: 'Those that count against the monthly quota' }),
  overage: Type.Integer({ minimum: 0, description: 'Of these, the ones beyond the quota' })
})

/** Numbers of requests. */
export type UsageTotal = Readonly<Static<typeof usageTotal>>

/** The schema of a {@link UsageReport}. */
export const usageReportSchema = entitySchema({
  totals: Type.Array(usageTotal),
  isComplete: Type.Boolean({ description: 'Whether the list is complete' })
})

/** Totals in order of time, and within a period the largest first. */
export type UsageReport = DeepReadonly<Static<typeof usageReportSchema>>

/** The most periods in a response. */
const maxPeriods = 1_000
const maxTotals = 10_000

/** An organization's usage. Without a breakdown, periods without requests are included. @throws {ControlError} */
export async function sumUsage (db: Kysely<Tables>, query: UsageQuery): Promise<UsageReport> {
  const begins = listPeriodStarts(query)
  const beginOf = new Map(begins.map(begin => [begin.slice(0, getLabelLength(query)), begin]))
  const totals = (await fetchSums(db, query, begins[0]!)).map(row => toTotal(row, beginOf.get(row.label)!))
  if (query.per !== undefined) return { totals: totals.slice(0, maxTotals), isComplete: totals.length <= maxTotals }
  const found = new Map(totals.map(total => [total.from, total]))
  return { totals: begins.map(from => found.get(from) ?? { from, ...nothing }), isComplete: true }
}

const nothing = { requests: 0, ok: 0, errors: 0, refused: 0, failed: 0, counted: 0, overage: 0 }

/** How many characters of an hour's text identify its period. */
const getLabelLength = ({ by }: UsageQuery): number => by === undefined ? 0 : { hour: 13, day: 10, month: 7 }[by]

const hourMs = 3_600_000

/** The start of each period, written as hours are. */
function listPeriodStarts ({ from, to, by }: UsageQuery): string[] {
  if (!(from < to)) throw new ControlError('invalid', 'The start of the time range must be before its end.')
  if (by === undefined) return [formatHour(toPeriodStart(from, 'hour'))]
  const begins: string[] = []
  for (
    let begin = toPeriodStart(from, by);
    begin < to;
    begin = toPeriodStart(new Date(begin.getTime() + max[by]), by)
  ) {
    begins.push(formatHour(begin))
    if (begins.length > maxPeriods) {
      throw new ControlError(
        'invalid',
        `Request a shorter time range; at most ${maxPeriods} periods are returned at once.`
      )
    }
  }
  return begins
}

const formatHour = (moment: Date): string => `${moment.toISOString().slice(0, 13)}:00:00Z`

/** The longest that each period can be. */
const max = { hour: hourMs, day: 24 * hourMs, month: 31 * 24 * hourMs }

function toPeriodStart (moment: Date, by: UsagePeriod): Date {
  const [year, month, day, hour] = [
    moment.getUTCFullYear(),
    moment.getUTCMonth(),
    moment.getUTCDate(),
    moment.getUTCHours()
  ]
  return new Date(Date.UTC(year, month, by === 'month' ? 1 : day, by === 'hour' ? hour : 0))
}

/**
 * Rounds an end up to whole seconds: hours are stored without fractions of a second, and the last must not be left out.
 */
function toSecond (end: Date): string {
  return `${new Date(Math.ceil(end.getTime() / 1_000) * 1_000).toISOString().slice(0, 19)}Z`
}

type Hours = ExpressionBuilder<Tables, 'usageHours'>

function fetchSums (db: Kysely<Tables>, usageQuery: UsageQuery, begin: string): Promise<SumRow[]> {
  const { tenantId, to, mode, keyId, per } = usageQuery
  const sumOutcome = (eb: Hours, outcome: UsageOutcome) =>
    eb.fn.sum(eb.case().when('outcome', '=', outcome).then(eb.ref('count')).else(0).end())
  return db.selectFrom('usageHours')
    .where('tenantId', '=', tenantId).where('hour', '>=', begin).where('hour', '<', toSecond(to))
    .$if(mode !== undefined, query => query.where('mode', '=', mode!))
    .$if(keyId !== undefined, query => query.where('keyId', '=', keyId!))
    .select(eb => [
      eb.fn<string>('substr', ['hour', eb.lit(1), eb.lit(getLabelLength(usageQuery))]).as('label'),
      (per === undefined ? sql<string>`''` : sql.ref<string>(per)).as('of'),
      eb.fn.sum('count').as('requests'),
      sumOutcome(eb, 'ok').as('ok'),
      sumOutcome(eb, 'error').as('errors'),
      sumOutcome(eb, 'refused').as('refused'),
      sumOutcome(eb, 'failed').as('failed'),
      eb.fn.sum(eb('count', '*', eb.ref('isCounted'))).as('counted'),
      eb.fn.sum(eb('count', '*', eb.ref('isOverage'))).as('overage')
    ])
    .groupBy(['label', 'of']).orderBy('label').orderBy('requests', 'desc').orderBy('of').limit(maxTotals + 1)
    .execute()
}

/** Databases return large sums in different types. */
type SumRow = { readonly label: string; readonly of: string } & Readonly<
  Record<keyof typeof nothing, number | string | bigint>
>

function toTotal ({ label: _, of, ...counts }: SumRow, from: string): UsageTotal {
  const { requests, ok, errors, refused, failed, counted, overage } = counts
  return {
    from,
    ...of !== '' && { of },
    requests: Number(requests),
    ok: Number(ok),
    errors: Number(errors),
    refused: Number(refused),
    failed: Number(failed),
    counted: Number(counted),
    overage: Number(overage)
  }
}
