import { startOfMonth, toMonth } from '../../../limits/month.js'
import { calculateOverageAmount } from '../../store/bill.js'
import { formatCount, formatDay } from '../format.js'

/** How much of its monthly allowance an organization has used. */
interface AllowanceSoFar {
  /** Live requests that counted. */
  readonly counted: number
  /** Those of them that came past the allowance. */
  readonly overage: number
  readonly allowance: number
  /** Whether requests beyond the allowance are served and billed. */
  readonly allowsOverage: boolean
  readonly now: Date
}

/** How much of the month's allowance is used, the projection for the month and the cost so far. */
export function QuotaMeter (soFar: AllowanceSoFar) {
  const { counted, allowance } = soFar
  const text = `${formatCount(counted)} of ${formatCount(allowance)} requests of the plan used this month`
  return (
    <>
      <Warning {...soFar} />
      <p class='allowance'>
        <meter
          min='0'
          max={String(allowance)}
          high={String(allowance * warnedFrom)}
          value={String(Math.min(counted, allowance))}
          aria-label={text}
        />
        <span safe>{[text, ...formatOutlook(soFar)].map(sentence => `${sentence}.`).join(' ')}</span>
      </p>
    </>
  )
}

const warnedFrom = 0.8
/** Before this time a projection is not meaningful. */
const paceFromMs = 24 * 3_600_000

/** The projected requests at the end of the month at the present rate; undefined on its first day. */
export function projectUsage ({ counted, now }: Pick<AllowanceSoFar, 'counted' | 'now'>): number | undefined {
  const month = toMonth(now.toISOString())
  const [begin, end] = [startOfMonth(month), startOfMonth(month, 1)]
  const passedMs = now.getTime() - begin.getTime()
  return passedMs < paceFromMs ? undefined : Math.round(counted * (end.getTime() - begin.getTime()) / passedMs)
}

function formatOutlook (soFar: AllowanceSoFar): string[] {
  const atTheEnd = projectUsage(soFar)
  const { overage } = soFar
  return [
    ...(atTheEnd === undefined || atTheEnd === 0
      ? []
      : [`At this pace about ${formatCount(atTheEnd)} by the end of the month`]),
    ...(overage === 0
      ? []
      : [`${formatCount(overage)} came past the allowance and cost ${calculateOverageAmount(overage)} USD so far`])
  ]
}

function Warning ({ counted, allowance, allowsOverage, now }: AllowanceSoFar) {
  if (counted < allowance * warnedFrom) return ''
  if (counted < allowance) {
    return (
      <p class='notice notice-warning' role='status'>
        More than 80 % of the month’s allowance is used.
      </p>
    )
  }
  const nextMonth = formatDay(startOfMonth(toMonth(now.toISOString()), 1).toISOString())
  return allowsOverage
    ? (
      <p class='notice notice-warning' role='status'>
        The month’s allowance is used up. Further live requests are served and billed.
      </p>
      )
    : (
      <p
        class='notice notice-bad'
        role='alert'
        safe
      >{`The month’s allowance is used up. Live requests are refused until ${nextMonth}.`}
      </p>
      )
}
