import { json } from 'node:stream/consumers'
import { toJobOwner, type ExportRequest, type Job, type JobOwner } from '../model/job.js'
import type { Jobs } from '../model/jobs.js'
import type { Spool } from '../storage/files.js'
import { requireFewUnfinished } from '../model/unfinished-jobs.js'
import { parseQuery, getRawQuery, type QueryPair } from '../../envelope/query.js'
import { corruptFile } from '../storage/storage-errors.js'
import { toFileState, type JobFiles } from '../job-context.js'

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
    return await jobs.create({ ...made, owner: toJobOwner(owner), request: await sealRequest(files, request) })
  } catch (error) {
    await spool.delete(made.id)
    throw error
  }
}

/** The file of a job with the parts of its request that the control plane must not see. */
const requestFile = 'request'

/** The parts of a request that may contain a person's name or number. */
type SealedPart = Pick<ExportRequest, 'filters' | 'patients' | 'url'>

/**
 * The request as stored by the control plane: filters, patients, and a URL that contains more than R4 names and times,
 * are moved to an encrypted file of the job.
 */
async function sealRequest (files: Pick<JobFiles, 'write'>, request: ExportRequest): Promise<ExportRequest> {
  const { filters, patients, ...open } = request
  const { url } = request
  const isOpen = filters === undefined && patients === undefined
  if (isOpen && parseQuery(getRawQuery(url), Infinity).every(pair => isPlain(pair, request))) return request
  const part: SealedPart = { url, ...filters !== undefined && { filters }, ...patients !== undefined && { patients } }
  const writer = await files.write(requestFile)
  try {
    await writer.write(Buffer.from(JSON.stringify(part)))
  } finally {
    await writer.close()
  }
  return { ...open, url: url.split('?', 1)[0]!, sealed: toFileState(writer) }
}

/**
 * The request as the client sent it.
 * @throws {Failure} INTERNAL_ERROR when the file was changed or is missing
 */
export async function unsealRequest (files: Pick<JobFiles, 'read'>, request: ExportRequest): Promise<ExportRequest> {
  const { sealed, ...open } = request
  if (sealed === undefined) return request
  return { ...open, ...await readSealedPart(files, sealed) }
}

async function readSealedPart (
  files: Pick<JobFiles, 'read'>,
  state: NonNullable<ExportRequest['sealed']>
): Promise<SealedPart> {
  try {
    return (await json(files.read(requestFile, { end: state.bytes, state }))) as SealedPart
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? corruptFile('the request of an export is missing')
      : error
  }
}

/** Whether a parameter contains only a validated time, a format, or R4 names. */
function isPlain ([name, value]: QueryPair, { types, elements = [] }: ExportRequest): boolean {
  const understood = { _type: types, _elements: elements }[name]
  return understood === undefined
    ? ['_since', '_until', '_outputFormat'].includes(name)
    : value.split(',').every(each => understood.includes(each))
}
