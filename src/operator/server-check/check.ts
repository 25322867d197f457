import type { TestTenant } from './test-tenant.js'

/**
 * The result of a check. `degraded`: the gateway works, with fewer features. `unsafe`: the gateway works, and clients
 * that reach the server without it can do harm. `blocks`: the gateway cannot keep its promises on this server.
 * `unclear`: the check could not be completed.
 */
export type State = 'works' | 'degraded' | 'unsafe' | 'blocks' | 'unclear'

/** An observation of a server; `detail` is for the operator and names no stored data. */
export interface CheckObservation {
  readonly holds: boolean
  readonly detail?: string
  /** Replaces the check's own severity. */
  readonly severity?: Exclude<State, 'works'>
  /** Replaces the check's own remedy. */
  readonly remedy?: string
}

/** One property of a server that the gateway relies on, or that an operator should know. */
export interface Check {
  /** For programs: `tag-search`. */
  readonly name: string
  /** The expected property. */
  readonly title: string
  /** The state if the property does not hold. */
  readonly otherwise: 'degraded' | 'unsafe' | 'blocks'
  /** The gateway's behaviour in that case. */
  readonly gateway: string
  /** The operator's remedy in that case. */
  readonly remedy: string
  /** Whether the other checks are impossible after its failure. */
  readonly isFirst?: boolean
  /** Performs the check on the server, with records of the test tenant alone. */
  readonly examine: (trial: TestTenant) => Promise<CheckObservation>
}

/** The outcome of a check. */
export interface Finding extends Pick<Check, 'name' | 'title'>, Pick<CheckObservation, 'detail'> {
  readonly state: State
  /** The gateway's behaviour and the remedy; absent if the check passes. */
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
export const holdsIf = (condition: boolean, otherwise: string, detail?: string): CheckObservation =>
  condition ? holds(detail) : fails(otherwise)

/** `status 412` */
export const formatStatus = ({ status }: { readonly status: number }): string => `status ${status}`
