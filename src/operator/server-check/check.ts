import type { TestTenant } from './test-tenant.js'

/**
 * What became of a check. `degraded`: the gateway works, with less. `unsafe`: the gateway works, and who reaches the
 * server past it can do harm. `blocks`: the gateway cannot keep its promises on this server. `unclear`: it could not be
 * found out.
 */
export type State = 'works' | 'degraded' | 'unsafe' | 'blocks' | 'unclear'

/** What was seen of a server; `detail` is for the operator and names nothing that is stored. */
export interface CheckObservation {
  readonly holds: boolean
  readonly detail?: string
  /** In place of the check's own. */
  readonly severity?: Exclude<State, 'works'>
}

/** One thing that the gateway relies on, or that an operator should know of. */
export interface Check {
  /** For programs: `tag-search`. */
  readonly name: string
  /** What should hold. */
  readonly title: string
  /** What it comes to when it does not hold. */
  readonly otherwise: 'degraded' | 'unsafe' | 'blocks'
  /** What the gateway does then. */
  readonly gateway: string
  /** What the operator can do then. */
  readonly remedy: string
  /** Whether nothing can be learned without it. */
  readonly isFirst?: boolean
  /** Does it to the server, with records of the trial alone. */
  readonly examine: (trial: TestTenant) => Promise<CheckObservation>
}

/** What a check came to. */
export interface Finding extends Pick<Check, 'name' | 'title'>, Pick<CheckObservation, 'detail'> {
  readonly state: State
  /** What the gateway does, and what to change; absent where it works. */
  readonly gateway?: string
  readonly change?: string
}

/** It is so. */
export const holds = (detail?: string): CheckObservation => ({ holds: true, ...detail !== undefined && { detail } })

/** It is not so. */
export const fails = (detail: string, otherwise?: CheckObservation['severity']): CheckObservation => ({
  holds: false,
  detail,
  ...(otherwise !== undefined && { severity: otherwise })
})

/** It is so if the condition is. */
export const observed = (condition: boolean, otherwise: string, detail?: string): CheckObservation =>
  condition ? holds(detail) : fails(otherwise)

/** `status 412` */
export const statusOf = ({ status }: { readonly status: number }): string => `status ${status}`
