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

/** Opened resources, to be closed in reverse order, each even when another one fails. */
export class Disposables {
  readonly #opened: Array<{ close (): unknown }> = []

  add<T extends { close (): unknown }> (thing: T): T {
    this.#opened.push(thing)
    return thing
  }

  async close (): Promise<void> {
    const failures: unknown[] = []
    for (const thing of this.#opened.splice(0).reverse()) {
      try {
        await thing.close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some resources could not be closed')
  }
}
