import { join } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import { jobFileRoute } from '../jobs/downloads.js'
import { Spool } from '../jobs/storage/files.js'
import { deleteLeftovers } from '../jobs/delete-leftovers.js'
import { jobRoutes } from '../jobs/job-routes.js'
import { withJobMetrics } from '../jobs/measured-job.js'
import { JobRunner, defaultLeaseMs } from '../jobs/runner.js'
import { createJobStarter, type StartJob } from '../jobs/running-job.js'
import { Sweeper } from '../jobs/storage/sweeper.js'
import type { JobHandler } from '../jobs/job-context.js'
import type { Config } from '../config/schema.js'
import type { Check } from '../http/health.js'
import type { Job, JobKind } from '../jobs/model/job.js'
import type { Jobs } from '../jobs/model/jobs.js'
import type { Exports } from '../api/passthrough/export-routes.js'
import { createExportParts, createImportParts, type Bulk, type BulkParts } from './bulk-jobs.js'
import { withJobAudit } from './audit-log.js'
import type { Disposables } from './parts.js'
import { getGatewayName } from './own-config.js'
import type { JobThread } from './job-thread/job-thread.js'

/** The bulk jobs of this gateway, which is working on them. */
export interface OpenBulk {
  /** Below `/v1`, in the envelope. */
  readonly routes: readonly FastifyPluginAsync[]
  /** Below `/v1/fhir`. */
  readonly fhirRoutes: readonly FastifyPluginAsync[]
  /** For datastores, which have no key. */
  readonly openRoutes: readonly FastifyPluginAsync[]
  /** For raw FHIR, which begins exports too. */
  readonly exports: Exports
  readonly check: () => Promise<Check>
  /** How many jobs are worked on now. */
  readonly running: () => number
}

/** Requesting jobs that fails so often, for some minutes, is worth a look. */
const noticedFailures = 7

/** The dependencies of bulk jobs, and the thread that runs them, where they have one. */
type OpenBulkParts = BulkParts & { readonly thread?: JobThread | undefined }

/**
 * Opens the directory for files of jobs, and works on the jobs that it can claim. The control plane need not respond.
 */
export function openBulk (
  config: Config, { audit, thread, ...parts }: OpenBulkParts, closers: Disposables
): OpenBulk {
  const { bulk: { maxConcurrentJobs, jobsPerOrganization }, control } = config
  const { link: { jobs }, keys, url, now, log } = parts
  const spool = openSpool(config)
  const listeners: JobListeners = {}
  const bulk: Bulk = {
    ...parts,
    spool,
    jobs: withJobEvents(jobs, listeners, job => deleteUnbegun(job, { spool, log }))
  }
  const { exports, end, ...ofExports } = createExportParts(bulk)
  listeners.end = end
  const ofImports = createImportParts(config, bulk)
  const doJob = withAuditAndMetrics({ export: ofExports.doJob, import: ofImports.doJob }, { ...parts, audit })
  const runner = closers.add(
    new JobRunner({
      jobs,
      spool,
      doJob,
      startJob: thread?.startJob,
      gateway: getGatewayName(control),
      maxConcurrentJobs,
      jobsPerOrganization,
      isRevoked: keys.isRevoked,
      log
    })
  )
  listeners.runner = runner
  closers.add(new Sweeper({ jobs, spool, now, log }))
  return {
    routes: [
      scope => jobRoutes(scope, { jobs: bulk.jobs, url, now }),
      scope => jobFileRoute(scope, { jobs: bulk.jobs, spool }),
      ...ofExports.routes,
      ...ofImports.routes
    ],
    fhirRoutes: [...ofExports.fhirRoutes, ...ofImports.fhirRoutes],
    openRoutes: ofImports.openRoutes,
    exports,
    check: async () => {
      const isWell = runner.failures < noticedFailures && await thread?.isWell() !== false
      return { status: isWell ? 'ok' : 'degraded', running: runner.running }
    },
    running: () => runner.running
  }
}

/** Starts jobs in this thread, which claims none. */
export function openJobStarter (config: Config, { audit, ...parts }: BulkParts): StartJob {
  const { link: { jobs }, keys: { isRevoked }, log } = parts
  const spool = openSpool(config)
  const bulk: Bulk = { ...parts, spool, jobs }
  const doJob = withAuditAndMetrics(
    { export: createExportParts(bulk).doJob, import: createImportParts(config, bulk).doJob }, { ...parts, audit }
  )
  return createJobStarter({ jobs, spool, doJob, isRevoked, leaseMs: defaultLeaseMs, log })
}

function openSpool ({ bulk, dataDirectory }: Config): Spool {
  const { directory = join(dataDirectory, 'bulk'), organizationBytes, reserveBytes } = bulk
  return new Spool({ directory, organizationBytes, reserveBytes })
}

/** The job handlers with auditing and measurement, where these are configured. */
function withAuditAndMetrics (
  doJob: Record<JobKind, JobHandler>,
  { audit, metrics, now }: Pick<BulkParts, 'audit' | 'metrics' | 'now'>
): Record<JobKind, JobHandler> {
  const wrapHandler = (kind: JobKind): JobHandler => {
    const audited =
      audit === undefined ? doJob[kind] : withJobAudit(doJob[kind], kind, { accounts: audit.accounts, now })
    return metrics === undefined ? audited : withJobMetrics(kind, audited, metrics)
  }
  return { export: wrapHandler('export'), import: wrapHandler('import') }
}

/**
 * Deletes the files of a job that was cancelled before a runner started it, since no runner will; otherwise the runner
 * deletes them when it leaves the job.
 */
async function deleteUnbegun (
  job: Job,
  { spool, log }: { readonly spool: Spool; readonly log: BulkParts['log'] }
): Promise<void> {
  if (job.startedAt === undefined && job.storeId === spool.storeId) await deleteLeftovers(job, { spool, log })
}

/** The listeners to job changes in this process. */
interface JobListeners {
  runner?: JobRunner
  end?: (job: Job) => Promise<void>
}

/**
 * The same jobs, with immediate notification of the runner in this process, and cancellation of the datastore's exports
 * when their job is cancelled.
 */
function withJobEvents (jobs: Jobs, listeners: JobListeners, deleteUnbegun: (job: Job) => Promise<void>): Jobs {
  const onCancelled = (job: Job): void => {
    listeners.runner?.checkForCancellation(job.id)
    if (job.request.kind === 'export') listeners.end?.(job)
  }
  return {
    // One by one, since they may be methods of a class.
    create: async draft => {
      const job = await jobs.create(draft)
      listeners.runner?.wake()
      return job
    },
    cancel: async (id, scope) => {
      const job = await jobs.cancel(id, scope)
      if (job?.status === 'cancelled') {
        onCancelled(job)
        await deleteUnbegun(job)
      }
      return job
    },
    discard: async (id, scope) => {
      const job = await jobs.find(id, scope)
      await jobs.discard(id, scope)
      if (job?.status === 'pending' || job?.status === 'processing') onCancelled(job)
    },
    find: (id, scope) => jobs.find(id, scope),
    list: (scope, page) => jobs.list(scope, page),
    claim: worker => jobs.claim(worker),
    save: (lease, change, leaseMs) => jobs.save(lease, change, leaseMs),
    release: (lease, error) => jobs.release(lease, error),
    expired: storeId => jobs.expired(storeId),
    existing: ids => jobs.existing(ids),
    abandoned: ids => jobs.abandoned(ids),
    forget: ids => jobs.forget(ids),
    identityKey: scope => jobs.identityKey(scope)
  }
}
