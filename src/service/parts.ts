import type { FastifyBaseLogger } from 'fastify'

/** What the process gives to the service. */
export interface ServiceParts {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
}
