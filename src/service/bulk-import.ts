import type { FastifyPluginAsync } from 'fastify'
import { importJobs } from '../bulk/import/import-job.js'
import { results } from '../bulk/import/results.js'
import { importRoute } from '../bulk/import/routes.js'
import type { DoJob } from '../bulk/work.js'
import type { Config } from '../config.js'
import { recordQuota } from '../limits/record-quota.js'
import { importStore } from '../tenant-guard/import/import-store.js'
import type { Bulk } from './bulk.js'

/** Who does imports, and the routes that are theirs. */
export interface ImportParts { readonly doJob: DoJob, readonly routes: readonly FastifyPluginAsync[] }

/** The imports of a gateway. */
export function importParts ({ plans, limits, bulk: { importHosts, lineBytes } }: Config, { jobs, spool, openDoor, usage, url, now }: Bulk): ImportParts {
  const rules = { importHosts }
  const quotaFor = recordQuota({ plans, months: usage.months, record: usage.count, now })
  return {
    doJob: importJobs({ ...rules, jobs, lineBytes, quotaFor, storeFor: (owner, errand) => importStore(openDoor(owner, errand)) }),
    routes: [
      scope => importRoute(scope, { jobs, spool, rules, url, bodyBytes: limits.bundleBytes }),
      scope => results(scope, { jobs, spool })
    ]
  }
}
