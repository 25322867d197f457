import { json } from 'node:stream/consumers'
import { parseQuery, rawQuery, type QueryPair } from '../../envelope/query.js'
import type { ExportRequest } from '../model/job.js'
import { corruptFile } from '../storage/storage-errors.js'
import { stateOf, type JobFiles } from '../job-context.js'

/** The file of a job that holds what the control plane is not to know of its request. */
const requestFile = 'request'

/** What a client may have written a name or a number of a person into. */
type SealedPart = Pick<ExportRequest, 'filters' | 'url'>

/**
 * The request as the control plane keeps it: searches, and a URL with more in it than names of R4 and times, go into a
 * file of the job, which is encrypted.
 */
export async function sealedRequest (files: Pick<JobFiles, 'write'>, request: ExportRequest): Promise<ExportRequest> {
  const { filters, ...open } = request
  const { url } = request
  if (filters === undefined && parseQuery(rawQuery(url), Infinity).every(pair => isPlain(pair, request))) return request
  const part: SealedPart = { url, ...filters !== undefined && { filters } }
  const writer = await files.write(requestFile)
  try {
    await writer.write(Buffer.from(JSON.stringify(part)))
  } finally {
    await writer.close()
  }
  return { ...open, url: url.split('?', 1)[0]!, sealed: stateOf(writer) }
}

/**
 * The request as the client sent it.
 * @throws {Failure} INTERNAL_ERROR when the file is not as it was left
 */
export async function fullRequest (files: Pick<JobFiles, 'read'>, request: ExportRequest): Promise<ExportRequest> {
  const { sealed, ...open } = request
  if (sealed === undefined) return request
  return { ...open, ...await sealedPart(files, sealed) }
}

async function sealedPart (
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

/** Whether a parameter holds nothing but what was understood and found to be a time, a format, or names of R4. */
function isPlain ([name, value]: QueryPair, { types, elements = [] }: ExportRequest): boolean {
  const understood = { _type: types, _elements: elements }[name]
  return understood === undefined
    ? name === '_since' || name === '_outputFormat'
    : value.split(',').every(each => understood.includes(each))
}
