import type { FastifyBaseLogger } from 'fastify'
import type { Traces } from '../observability/tracing.js'
import type { ProcessMember } from './processes/member.js'
import type { Metrics } from '../observability/metrics/measurements.js'

/** The dependencies that the process passes to the service. */
export interface ServiceParts {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** Whether the capabilities of datastores are requested at the start; otherwise when they are first needed. */
  readonly logsCapabilities?: boolean | undefined
  /** This process among the others of the gateway; absent if it is the only one. */
  readonly member?: ProcessMember
  /** Absent where nothing is measured. */
  readonly metrics?: Metrics
  /** Absent where nothing is traced. */
  readonly traces?: Traces
}
