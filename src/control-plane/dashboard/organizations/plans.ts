import type { Plan, Plans } from '../../../config/schema.js'
import type { RadioOption } from '../forms.js'
import { formatCount } from '../format.js'

/** Every configured plan, with a sentence on what it allows. */
export function toPlanOptions (plans: Plans): RadioOption[] {
  return Object.entries(plans).map(([name, plan]) => ({ value: name, label: name, hint: formatPlan(plan) }))
}

/** Whether live requests beyond the plan's allowance can be served: it has an allowance, which is not a hard limit. */
export function mayHaveOverage (plan: Plan | undefined): boolean {
  return plan !== undefined && plan.overage && plan.requestsPerMonth !== null
}

/** A text for what a plan allows. */
export function formatPlan ({ requestsPerMinute, requestsPerMonth, overage }: Plan): string {
  const perMinute =
    requestsPerMinute === null
      ? 'any number of requests a minute'
      : `${formatCount(requestsPerMinute)} requests a minute`
  const perMonth = requestsPerMonth === null ? 'any number a month' : `${formatCount(requestsPerMonth)} a month`
  const beyond =
    requestsPerMonth === null ? '' : overage ? '; more is served and billed unless overage is off' : '; more is refused'
  return `${perMinute}, ${perMonth}${beyond}`
}
