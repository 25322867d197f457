import type { FastifyBaseLogger } from 'fastify'
import type { Spool } from '../jobs/storage/files.js'
import type { AccessAuditSink } from '../http/audit-accesses.js'
import type { Jobs } from '../jobs/model/jobs.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import type { Measurements } from '../observability/metrics/measurements.js'
import type { OpenTenantContext } from './guarded-stores.js'
import type { OpenKeys } from './keys.js'
import type { OpenUsage } from './usage.js'

/** The dependencies of bulk jobs. */
export interface BulkParts {
  readonly link: Pick<ControlPlaneClient, 'jobs'>
  readonly openTenantContext: OpenTenantContext
  readonly keys: Pick<OpenKeys, 'isRevoked' | 'organization'>
  readonly usage: Pick<OpenUsage, 'count' | 'months'>
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** The audit log of the jobs' accesses; absent if there is none. */
  readonly accounts?: AccessAuditSink
  /** Receives the outcomes of jobs; absent if there are no metrics. */
  readonly metrics?: Pick<Measurements, 'workEnded' | 'recordsDone'>
}

/** The dependencies of starting jobs: the job store, and the spool for their files. */
export interface Bulk extends Omit<BulkParts, 'link' | 'metrics' | 'accounts'> {
  readonly jobs: Jobs
  readonly spool: Spool
}
