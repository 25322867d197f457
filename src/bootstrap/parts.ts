import type { FastifyBaseLogger } from 'fastify'
import type { Traces } from '../observability/tracing.js'
import type { Metrics } from '../observability/metrics/measurements.js'

/** The dependencies that the process passes to the service. */
export interface ServiceParts {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** Whether the capabilities of datastores are requested at the start; otherwise when they are first needed. */
  readonly logsCapabilities?: boolean | undefined
  /** Absent where nothing is measured. */
  readonly metrics?: Metrics
  /** Absent where nothing is traced. */
  readonly traces?: Traces
}
