import type { FastifyPluginAsync } from 'fastify'
import { importJobs, type ImportJobOptions } from '../jobs/import/import-job.js'
import { ImportFileServer, importFileRoute } from '../jobs/import/native/file-server.js'
import { writeResults } from '../jobs/import/results.js'
import { importRoute } from '../jobs/import/routes.js'
import { sourcesIn, startImport } from '../jobs/import/start-import.js'
import { findOpenJob } from '../jobs/open-jobs.js'
import { isJobId } from '../jobs/model/job.js'
import type { JobHandler } from '../jobs/job-context.js'
import type { Config } from '../config/schema.js'
import { recordQuota } from '../limits/record-quota.js'
import { importRoutes, type Imports } from '../api/passthrough/import-routes.js'
import { importStore } from '../tenant-guard/import/import-store.js'
import { nativeImport } from '../tenant-guard/import/native-import.js'
import type { Bulk } from './bulk-parts.js'

/** Who does imports, and the routes that are theirs. */
interface ImportParts {
  readonly doJob: JobHandler
  readonly routes: readonly FastifyPluginAsync[]
  readonly fhirRoutes: readonly FastifyPluginAsync[]
  /** For datastores, which have no key. */
  readonly openRoutes: readonly FastifyPluginAsync[]
}

/** The imports of a gateway. */
export function importParts (config: Config, bulk: Bulk): ImportParts {
  const { plans, limits, bulk: { importHosts, lineBytes } } = config
  const { jobs, spool, openTenantContext, keys, usage, url, now } = bulk
  const rules = { importHosts }
  const start = { jobs, spool, rules, url }
  const imports: Imports = {
    begin: ({ caller }, inputs) =>
      startImport(start, caller, { options: { dryRun: false }, input: sourcesIn(inputs, rules, 'input') }),
    find: async ({ caller }, id) => {
      const job = isJobId(id) ? await findOpenJob(jobs, id, caller) : undefined
      return job?.request.kind === 'import' && job.status !== 'cancelled' ? job : undefined
    },
    discard: ({ caller }, id) => jobs.discard(id, caller)
  }
  const native = nativeImports(config, bulk)
  const quotaFor = recordQuota({
    plans,
    organization: keys.organization,
    months: usage.months,
    record: usage.count,
    now
  })
  return {
    doJob: importJobs({
      ...rules,
      jobs,
      lineBytes,
      quotaFor,
      storeFor: (owner, requestContext) => importStore(openTenantContext(owner, { ...requestContext, form: 'simple' })),
      ...native.options
    }),
    routes: [
      scope => importRoute(scope, { ...start, bodyBytes: limits.bundleBytes }),
      scope => writeResults(scope, { jobs, spool })
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
function nativeImports (
  { datastores, bulk: { importUrl }, events }: Config, { openTenantContext }: Bulk
): NativeImports {
  if (importUrl === undefined || events.enabled) return { options: {}, routes: [] }
  const offers = new ImportFileServer(importUrl)
  return {
    options: {
      nativePartsFor: (owner, requestContext) => {
        const context = openTenantContext(owner, requestContext)
        return datastores[context.backend.name]?.import === 'own' ? { store: nativeImport(context), offers } : undefined
      }
    },
    routes: [scope => importFileRoute(scope, offers)]
  }
}
