import { Type, type Static } from 'typebox'
import type { DeepReadonly } from '../config/schema.js'
import { catalog } from '../envelope/failures.js'
import { jobKinds, jobStatuses, type Job, type JobFile } from './model/job.js'

const time = (description: string) => Type.String({ format: 'date-time', description })
const count = (description: string) => Type.Integer({ minimum: 0, description })
const failure = {
  code: Type.Unsafe<string>({ type: 'string', enum: Object.keys(catalog) }),
  message: Type.String()
}

/** The schema of a job as the client receives it. */
export const presentedJobSchema = Type.Object({
  id: Type.String(),
  type: Type.Enum(jobKinds, { type: 'string' }),
  status: Type.Enum(jobStatuses, { type: 'string' }),
  totalRecords: Type.Optional(count('Absent until it is known.')),
  processedRecords: count('Records processed so far, including failed ones.'),
  failedRecords: count('Of these, the records that failed.'),
  recordsPerSecond: Type.Optional(
    Type.Number({ minimum: 0, description: 'Average since the job started; absent until a record is processed.' })
  ),
  secondsLeft: Type.Optional(count('Estimated at that rate; absent if unknown.')),
  downloadUrl: Type.Optional(
    Type.String({ description: 'The results of an import, or the file of an export that has only one.' })
  ),
  files: Type.Array(
    Type.Object({ resourceType: Type.String(), count: count('Lines.'), url: Type.String() }),
    { description: 'The files of a completed export.' }
  ),
  errors: Type.Array(
    Type.Object({ line: count('Line number, from 1.'), ...failure }),
    { maxItems: 100, description: 'The first failed lines of an import.' }
  ),
  leftOutTypes: Type.Optional(Type.Array(Type.String(), {
    description:
      'The R4 types that an export without named types lacks, because the scopes of the key do not include them.'
  })),
  failure: Type.Optional(Type.Object(failure, { description: 'Why the job as a whole failed.' })),
  createdAt: time('When the job was requested.'),
  startedAt: Type.Optional(time('When the job started to run.')),
  completedAt: Type.Optional(time('When the job ended, with any status.')),
  expiresAt: time('When the job and its files are deleted.')
})

type PresentedJob = DeepReadonly<Static<typeof presentedJobSchema>>

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
  const files = listDownloadableFiles(job).map(({ name, resourceType, count }) => ({
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
    ...estimateSpeed(job, now),
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
export function listDownloadableFiles ({ status, files }: Job): readonly JobFile[] {
  return status === 'completed' ? files : []
}

function estimateSpeed (
  { status, progress: { total, processed }, startedAt, completedAt }: Job,
  now: Date
): Pick<PresentedJob, 'recordsPerSecond' | 'secondsLeft'> {
  if (startedAt === undefined || processed === 0) return {}
  const end = completedAt === undefined ? now.getTime() : Date.parse(completedAt)
  // The times come from two clocks, the control plane's and the gateway's.
  const seconds = Math.max(0.001, (end - Date.parse(startedAt)) / 1_000)
  const rate = processed / seconds
  const isRunning = status === 'processing' && total !== undefined
  return {
    recordsPerSecond: Math.round(rate * 10) / 10,
    ...(isRunning && { secondsLeft: Math.ceil(Math.max(0, total - processed) / rate) })
  }
}
