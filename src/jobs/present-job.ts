import type { Job, JobFile, LineError } from './model/job.js'

/** A job as the client receives it; times are ISO 8601. */
interface PresentedJob {
  readonly id: string
  readonly type: Job['request']['kind']
  readonly status: Job['status']
  /** Absent until it is known. */
  readonly totalRecords?: number
  readonly processedRecords: number
  readonly failedRecords: number
  /** The average since the job was started; absent until a record is done. */
  readonly recordsPerSecond?: number
  /** Estimated from that rate; absent when unknown. */
  readonly secondsLeft?: number
  /** The results of an import; the file of an export that has only one. */
  readonly downloadUrl?: string
  readonly files: ReadonlyArray<Pick<JobFile, 'resourceType' | 'count'> & { readonly url: string }>
  readonly errors: readonly LineError[]
  /** The types that an export of everything lacks, because the key may not read them. */
  readonly leftOutTypes?: readonly string[]
  /** Why the job failed. */
  readonly failure?: Job['failure']
  readonly createdAt: string
  readonly startedAt?: string
  readonly completedAt?: string
  /** When job and files are deleted. */
  readonly expiresAt: string
}

/** Builds the API's form of a job, with an estimate of its speed; `url` is the gateway's own, before `/v1`. */
export function presentJob (job: Job, { url, now }: { readonly url: string, readonly now: Date }): PresentedJob {
  const {
    id,
    status,
    request,
    progress: { total, processed, failed },
    errors,
    failure,
    createdAt,
    startedAt,
    completedAt,
    expiresAt
  } = job
  const { kind } = request
  const leftOutTypes = request.kind === 'export' ? request.leftOutTypes : undefined
  const path = `${url}/v1/bulk/jobs/${id}`
  const files = filesOf(job).map(({ name, resourceType, count }) => ({
    resourceType,
    count,
    url: `${path}/files/${name}`
  }))
  const downloadUrl = kind === 'import' ? `${path}/results` : files.length === 1 ? files[0]!.url : undefined
  return {
    id,
    type: kind,
    status,
    ...total !== undefined && { totalRecords: total },
    processedRecords: processed,
    failedRecords: failed,
    ...speedOf(job, now),
    ...downloadUrl !== undefined && { downloadUrl },
    files,
    errors,
    ...leftOutTypes !== undefined && { leftOutTypes },
    ...failure !== undefined && { failure },
    createdAt,
    ...startedAt !== undefined && { startedAt },
    ...completedAt !== undefined && { completedAt },
    expiresAt
  }
}

/** The files that a client may fetch: none before the job is completed, as not all content is checked yet. */
export function filesOf ({ status, files }: Job): readonly JobFile[] {
  return status === 'completed' ? files : []
}

function speedOf (
  { status, progress: { total, processed }, startedAt, completedAt }: Job,
  now: Date
): Pick<PresentedJob, 'recordsPerSecond' | 'secondsLeft'> {
  if (startedAt === undefined || processed === 0) return {}
  const end = completedAt === undefined ? now.getTime() : Date.parse(completedAt)
  // The times come from two clocks, the control plane's and the gateway's.
  const seconds = Math.max(0.001, (end - Date.parse(startedAt)) / 1_000)
  const rate = processed / seconds
  const isUnderWay = status === 'processing' && total !== undefined
  return {
    recordsPerSecond: Math.round(rate * 10) / 10,
    ...(isUnderWay && { secondsLeft: Math.ceil(Math.max(0, total - processed) / rate) })
  }
}
