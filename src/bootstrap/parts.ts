import type { FastifyBaseLogger } from 'fastify'
import type { Traces } from '../observability/tracing.js'
import type { Metrics } from '../observability/metrics/measurements.js'

/** What the process gives to the service. */
export interface ServiceParts {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** Whether datastores are asked at the start what they can do; else when it is first needed. */
  readonly logsCapabilities?: boolean | undefined
  /** Absent where nothing is measured. */
  readonly metrics?: Metrics
  /** Absent where nothing is traced. */
  readonly traces?: Traces
}
