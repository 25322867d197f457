import { startOfMonth, monthOf } from '../../../limits/month.js'
import { overageAmount } from '../../store/bill.js'
import { countText, dayText } from '../format.js'

/** How much of its monthly allowance an organization has used. */
interface AllowanceSoFar {
  /** Live requests that counted. */
  readonly counted: number
  /** Those of them that came past the allowance. */
  readonly overage: number
  readonly allowance: number
  /** Whether requests beyond the allowance are served and billed. */
  readonly isServedPast: boolean
  readonly now: Date
}

/** How much of the month's allowance is used, the projection for the month and the cost so far. */
export function QuotaMeter (soFar: AllowanceSoFar) {
  const { counted, allowance } = soFar
  const text = `${countText(counted)} of ${countText(allowance)} requests of the plan used this month`
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
        <span safe>{[text, ...outlook(soFar)].map(sentence => `${sentence}.`).join(' ')}</span>
      </p>
    </>
  )
}

const warnedFrom = 0.8
/** Before this time a projection is not meaningful. */
const paceFromMs = 24 * 3_600_000

/** The projected requests at the end of the month at the present rate; undefined on its first day. */
export function projected ({ counted, now }: Pick<AllowanceSoFar, 'counted' | 'now'>): number | undefined {
  const month = monthOf(now.toISOString())
  const [begin, end] = [startOfMonth(month), startOfMonth(month, 1)]
  const passedMs = now.getTime() - begin.getTime()
  return passedMs < paceFromMs ? undefined : Math.round(counted * (end.getTime() - begin.getTime()) / passedMs)
}

function outlook (soFar: AllowanceSoFar): string[] {
  const atTheEnd = projected(soFar)
  const { overage } = soFar
  return [
    ...(atTheEnd === undefined || atTheEnd === 0
      ? []
      : [`At this pace about ${countText(atTheEnd)} by the end of the month`]),
    ...(overage === 0
      ? []
      : [`${countText(overage)} came past the allowance and cost ${overageAmount(overage)} USD so far`])
  ]
}

function Warning ({ counted, allowance, isServedPast, now }: AllowanceSoFar) {
  if (counted < allowance * warnedFrom) return ''
  if (counted < allowance) {
    return (
      <p class='notice notice-warning' role='status'>
        More than 80 % of the month’s allowance is used.
      </p>
    )
  }
  const nextMonth = dayText(startOfMonth(monthOf(now.toISOString()), 1).toISOString())
  return isServedPast
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
