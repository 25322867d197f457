import type { FastifyBaseLogger } from 'fastify'
import type { Spool } from '../jobs/storage/files.js'
import type { AccessAuditSink } from '../http/audit-accesses.js'
import type { Jobs } from '../jobs/model/job.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import type { Measurements } from '../observability/metrics/measurements.js'
import type { OpenTenantContext } from './guarded-stores.js'
import type { OpenKeys } from './keys.js'
import type { OpenUsage } from './usage.js'

/** What bulk jobs are made of. */
export interface BulkParts {
  readonly link: Pick<ControlPlaneClient, 'jobs'>
  readonly openTenantContext: OpenTenantContext
  readonly keys: Pick<OpenKeys, 'isRevoked' | 'organization'>
  readonly usage: Pick<OpenUsage, 'count' | 'months'>
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** Where it is written down what jobs did; absent where nobody keeps account. */
  readonly accounts?: AccessAuditSink
  /** Told of what jobs come to; absent where nobody measures. */
  readonly metrics?: Pick<Measurements, 'workEnded' | 'recordsDone'>
}

/** What starts jobs: where they are kept, and where their files go. */
export interface Bulk extends Omit<BulkParts, 'link' | 'metrics' | 'accounts'> {
  readonly jobs: Jobs
  readonly spool: Spool
}
