import type { FastifyBaseLogger, FastifyPluginAsync } from 'fastify'
import { requireLocalFile } from '../jobs/downloads.js'
import { beginExport } from '../jobs/export/begin-export.js'
import { checkpointOf, transactionTimeOf } from '../jobs/export/checkpoint.js'
import { runExport } from '../jobs/export/do-export.js'
import { exportRoute } from '../jobs/export/routes.js'
import { fullRequest } from '../jobs/export/sealed-request.js'
import { isJobId, type ExportRequest, type Job } from '../jobs/model/job.js'
import { findOpenJob } from '../jobs/open-jobs.js'
import { presentJob } from '../jobs/present-job.js'
import type { JobHandler } from '../jobs/job-context.js'
import { mappings } from '../mappings/registry.js'
import { exportRoutes, type Exports } from '../api/passthrough/export-routes.js'
import { guardedExport } from '../tenant-guard/export/export.js'
import type { Bulk } from './bulk-parts.js'

/** Who does exports, and the routes that are theirs. */
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
export function exportParts ({ jobs, spool, openTenantContext, url, now, log }: Bulk): ExportParts {
  const exportFor = (job: Job, log: FastifyBaseLogger) =>
    guardedExport(openTenantContext(job.owner, { id: job.id, log }))
  const exports: Exports = {
    begin: (request, requested) => beginExport({ jobs, spool }, request.caller, requested),
    find: async ({ caller }, id) => {
      const job = isJobId(id) ? await findOpenJob(jobs, id, caller) : undefined
      return job?.request.kind === 'export' && job.status !== 'cancelled' ? job : undefined
    },
    discard: ({ caller }, id) => jobs.discard(id, caller),
    transactionTimeOf,
    urlOf: async job => {
      const request = job.request as ExportRequest
      if (request.sealed !== undefined) requireLocalFile(job, spool)
      return (await fullRequest(spool.of(job), request)).url
    },
    filesOf: job => presentJob(job, { url, now: now() }).files
  }
  return {
    doJob: runExport({ mappings, exportFor }),
    routes: [scope => exportRoute(scope, { jobs, spool, mappings, url })],
    fhirRoutes: [scope => exportRoutes(scope, { exports, now })],
    exports,
    end: async job => {
      try {
        await exportFor(job, log).end(checkpointOf(job)?.position)
      } catch (error) {
        log.warn({ err: error }, 'the datastore\'s native export could not be cancelled')
      }
    }
  }
}
