import { ownerOf, type ExportRequest, type Job, type JobOwner } from '../model/job.js'
import type { Jobs } from '../model/jobs.js'
import type { Spool } from '../storage/files.js'
import { requireFewUnfinished } from '../model/unfinished-jobs.js'
import { sealedRequest } from './sealed-request.js'

/** The parts needed to start exports. */
export interface ExportStart {
  readonly jobs: Pick<Jobs, 'create' | 'list'>
  readonly spool: Pick<Spool, 'begin' | 'delete'>
}

/** Creates the job of an export. Any gateway that can reach its files may run it. */
export async function beginExport (
  { jobs, spool }: ExportStart,
  owner: JobOwner,
  request: ExportRequest
): Promise<Job> {
  await requireFewUnfinished(jobs, owner)
  const { files, ...made } = await spool.begin(owner)
  try {
    return await jobs.create({ ...made, owner: ownerOf(owner), request: await sealedRequest(files, request) })
  } catch (error) {
    await spool.delete(made.id)
    throw error
  }
}
