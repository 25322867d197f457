import type { Caller, Scope } from '../keys/caller.js'
import { covers, isLimited, may } from '../keys/scopes.js'
import type { Job, JobPage } from './model/job.js'
import type { Jobs } from './model/jobs.js'

/**
 * Whether a key may know of a job of its organization: of an export if it may read all its types in its form, of an
 * import if it may write everything that the import's key could. A key without limits knows of every job; one that only
 * writes is refused an export by its scope.
 */
function isOpen (scopes: readonly Scope[], { request, owner }: Job): boolean {
  const onlyWrites = !isLimited(scopes, 'write') && !may(scopes, 'read', 'any')
  if (!isLimited(scopes, 'read') || onlyWrites) return true
  if (request.kind === 'import') return covers(scopes, owner.scopes ?? ['*'], 'write')
  const isRaw = request.format === 'fhir'
  return request.types.every(type => may(scopes, 'read', isRaw ? { fhirType: type } : { type }))
}

/** A job of the caller's organization and mode; undefined for one that is unknown, or that its key may not know of. */
export async function findOpenJob (jobs: Pick<Jobs, 'find'>, id: string, caller: Caller): Promise<Job | undefined> {
  const job = await jobs.find(id, caller)
  return job !== undefined && isOpen(caller.scopes, job) ? job : undefined
}

const jobsOfOneLook = 100

/** A page of the jobs that the caller may know of, newest first; without a total for a key with limits. */
export async function listOpenJobs (
  jobs: Pick<Jobs, 'list'>,
  caller: Caller,
  page: Parameters<Jobs['list']>[1]
): Promise<Pick<JobPage, 'jobs'> & Partial<Pick<JobPage, 'total'>>> {
  if (!isLimited(caller.scopes, 'read')) return await jobs.list(caller, page)
  const open: Job[] = []
  let { before } = page
  while (open.length < page.count) {
    const { jobs: found } = await jobs.list(caller, { count: jobsOfOneLook, ...(before !== undefined && { before }) })
    open.push(...found.filter(job => isOpen(caller.scopes, job)))
    before = found.at(-1)
    if (found.length < jobsOfOneLook) break
  }
  return { jobs: open.slice(0, page.count) }
}
