import type { FastifyBaseLogger, FastifyPluginAsync } from 'fastify'
import type { Spool } from '../jobs/storage/files.js'
import type { OpenAuditLog } from './audit-log.js'
import type { Jobs } from '../jobs/model/jobs.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import type { Measurements } from '../observability/metrics/measurements.js'
import type { OpenTenantContext } from './guarded-stores.js'
import type { OpenKeys } from './keys.js'
import type { OpenUsage } from './usage.js'
import { requireLocalFile } from '../jobs/downloads.js'
import { beginExport, unsealRequest } from '../jobs/export/begin-export.js'
import { getExportCheckpoint, getTransactionTime, createExportHandler } from '../jobs/export/do-export.js'
import { exportRoute } from '../jobs/export/routes.js'
import { isJobId, type ExportRequest, type Job } from '../jobs/model/job.js'
import { findOpenJob } from '../jobs/open-jobs.js'
import { presentJob } from '../jobs/present-job.js'
import type { JobHandler } from '../jobs/job-context.js'
import { mappings } from '../mappings/registry.js'
import { exportRoutes, type Exports } from '../api/passthrough/export-routes.js'
import { createGuardedExport } from '../tenant-guard/export/export.js'
import { createImportHandler, type ImportJobOptions } from '../jobs/import/import-job.js'
import { ImportFileServer, importFileRoute } from '../jobs/import/native/file-server.js'
import { importResultsRoute } from '../jobs/import/results.js'
import { importRoute } from '../jobs/import/routes.js'
import { parseSources, startImport } from '../jobs/import/start-import.js'
import type { Config } from '../config/schema.js'
import { recordQuota } from '../limits/record-quota.js'
import { importRoutes, type Imports } from '../api/passthrough/import-routes.js'
import { createImportStore } from '../tenant-guard/import/import-store.js'
import { createNativeImport } from '../tenant-guard/import/native-import.js'

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
  readonly audit: Pick<OpenAuditLog, 'accounts'> | undefined
  /** Receives the outcomes of jobs; absent if there are no metrics. */
  readonly metrics?: Pick<Measurements, 'workEnded' | 'recordsDone'> | undefined
}

/** The dependencies of starting jobs: the job store, and the spool for their files. */
export interface Bulk extends Omit<BulkParts, 'link' | 'metrics' | 'audit'> {
  readonly jobs: Jobs
  readonly spool: Spool
}

/** The runner of exports, and their routes. */
interface ExportParts {
  readonly doJob: JobHandler
  readonly routes: readonly FastifyPluginAsync[]
  readonly fhirRoutes: readonly FastifyPluginAsync[]
  /** For raw FHIR, which begins exports too. */
  readonly exports: Exports
  /** Cancels the native export on the datastore, since the gateway that worked on the job may be gone. Never throws. */
  readonly end: (job: Job) => Promise<void>
}

/** The exports of a gateway. */
export function createExportParts ({ jobs, spool, openTenantContext, url, now, log }: Bulk): ExportParts {
  const openExport = (job: Job, log: FastifyBaseLogger) =>
    createGuardedExport(openTenantContext(job.owner, { id: job.id, log }))
  const exports: Exports = {
    begin: (request, requested) => beginExport({ jobs, spool }, request.caller, requested),
    find: async ({ caller }, id) => {
      const job = isJobId(id) ? await findOpenJob(jobs, id, caller) : undefined
      return job?.request.kind === 'export' && job.status !== 'cancelled' ? job : undefined
    },
    discard: ({ caller }, id) => jobs.discard(id, caller),
    getTransactionTime,
    getRequestUrl: async job => {
      const request = job.request as ExportRequest
      if (request.sealed !== undefined) requireLocalFile(job, spool)
      return (await unsealRequest(spool.getJobFiles(job), request)).url
    },
    filesOf: job => presentJob(job, { url, now: now() }).files
  }
  return {
    doJob: createExportHandler({ mappings, openExport }),
    routes: [scope => exportRoute(scope, { jobs, spool, mappings, url })],
    fhirRoutes: [scope => exportRoutes(scope, { exports, now })],
    exports,
    end: async job => {
      try {
        await openExport(job, log).end(getExportCheckpoint(job)?.position)
      } catch (error) {
        log.warn({ err: error }, 'the datastore\'s native export could not be cancelled')
      }
    }
  }
}

/** The runner of imports, and their routes. */
interface ImportParts {
  readonly doJob: JobHandler
  readonly routes: readonly FastifyPluginAsync[]
  readonly fhirRoutes: readonly FastifyPluginAsync[]
  /** For datastores, which have no key. */
  readonly openRoutes: readonly FastifyPluginAsync[]
}

/** The imports of a gateway. */
export function createImportParts (config: Config, bulk: Bulk): ImportParts {
  const { plans, limits, bulk: { importHosts, lineBytes } } = config
  const { jobs, spool, openTenantContext, keys, usage, url, now } = bulk
  const rules = { importHosts }
  const start = { jobs, spool, rules, url }
  const imports: Imports = {
    begin: ({ caller }, inputs) =>
      startImport(start, caller, { options: { dryRun: false }, input: parseSources(inputs, rules, 'input') }),
    find: async ({ caller }, id) => {
      const job = isJobId(id) ? await findOpenJob(jobs, id, caller) : undefined
      return job?.request.kind === 'import' && job.status !== 'cancelled' ? job : undefined
    },
    discard: ({ caller }, id) => jobs.discard(id, caller)
  }
  const native = createNativeImports(config, bulk)
  const quotaFor = recordQuota({
    plans,
    organization: keys.organization,
    months: usage.months,
    record: usage.count,
    now
  })
  return {
    doJob: createImportHandler({
      ...rules,
      jobs,
      lineBytes,
      quotaFor,
      storeFor: (owner, requestContext) => createImportStore(openTenantContext(owner, { ...requestContext, form: 'simple' })),
      ...native.options
    }),
    routes: [
      scope => importRoute(scope, { ...start, bodyBytes: limits.bundleBytes }),
      scope => importResultsRoute(scope, { jobs, spool })
    ],
    fhirRoutes: [scope => importRoutes(scope, { imports, url })],
    openRoutes: native.routes
  }
}

interface NativeImports {
  readonly options: Pick<ImportJobOptions, 'nativePartsFor'>
  readonly routes: readonly FastifyPluginAsync[]
}

/**
 * The native imports of the datastores that are configured for them, and the routes from which these fetch; none where
 * events are written, since a datastore does not say which records of its own import it created.
 */
function createNativeImports (
  { datastores, bulk: { importUrl }, events }: Config, { openTenantContext }: Bulk
): NativeImports {
  if (importUrl === undefined || events.enabled) return { options: {}, routes: [] }
  const offers = new ImportFileServer(importUrl)
  return {
    options: {
      nativePartsFor: (owner, requestContext) => {
        const context = openTenantContext(owner, requestContext)
        return datastores[context.backend.name]?.import === 'native'
          ? { store: createNativeImport(context), offers }
          : undefined
      }
    },
    routes: [scope => importFileRoute(scope, offers)]
  }
}
