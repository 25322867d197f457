import { Failure, fieldIssue } from '../../envelope/failures.js'
import { requireLines } from '../../files/line-files.js'
import { mappings } from '../../mappings/registry.js'
import { toJobOwner, type ImportRequest, type Job } from '../model/job.js'
import type { Jobs } from '../model/jobs.js'
import type { Caller } from '../../keys/caller.js'
import { isTenantType } from '../../fhir/resource-types.js'
import type { Spool } from '../storage/files.js'
import { requireFewUnfinished } from '../model/unfinished-jobs.js'
import { toFileState, type FileWriter, type JobFiles } from '../job-context.js'
import { SourceError, sourcesFile, parseSourceUrl, type Source, type SourceRules } from './fetch-sources.js'
import { inputFile, countRecordLines, type ImportCheckpoint } from './import-context.js'
import { LineCount } from './lines.js'

/** The parts of the gateway needed to start imports. */
export interface StartOptions {
  readonly jobs: Pick<Jobs, 'create' | 'list'>
  readonly spool: Pick<Spool, 'begin' | 'delete'>
  readonly rules: SourceRules
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
}

/** The input: a stream of lines, a text of lines, or sources to fetch later. */
type Input = AsyncIterable<Buffer> | string | readonly Source[]

/** The options of an import. */
export type ImportOptions = Pick<ImportRequest, 'type' | 'dryRun'>

/** A client's request; `announced` is the Content-Length, in bytes. */
export interface ImportInput { readonly options: ImportOptions, readonly input: Input, readonly announced?: number }

/** The maximum number of URLs from which an import fetches its lines. */
export const maxSources = 1_000

/** Starts an import once its input is complete; if the input does not arrive, nothing remains. */
export async function startImport (
  { jobs, spool, url }: StartOptions,
  caller: Caller,
  { options, input, announced }: ImportInput
): Promise<Job> {
  // Before a long upload, since the control plane might refuse the job, too.
  await requireFewUnfinished(jobs, caller)
  const { files, ...made } = await spool.begin(caller, announced)
  try {
    const checkpoint = await store(files, input)
    return await jobs.create({
      ...made,
      checkpoint,
      progress: { ...(checkpoint.input && { total: countRecordLines(checkpoint.input) }), processed: 0, failed: 0 },
      owner: toJobOwner(caller),
      request: { kind: 'import', ...options, url }
    })
  } catch (error) {
    await spool.delete(made.id)
    throw error
  }
}

async function store (files: JobFiles, input: Input): Promise<ImportCheckpoint> {
  const isList = Array.isArray(input)
  const writer = await files.write(isList ? sourcesFile : inputFile)
  const count = new LineCount()
  try {
    await fill(writer, isList ? JSON.stringify(input) : input as Exclude<Input, readonly Source[]>, count)
    if (count.lines === count.blank) throw new Failure('BAD_REQUEST', { message: 'Send at least one line.' })
  } finally {
    await writer.close()
  }
  const state = toFileState(writer)
  return isList ? { sources: state } : { input: { ...state, lines: count.lines, blank: count.blank } }
}

async function fill (writer: FileWriter, input: AsyncIterable<Buffer> | string, count: LineCount): Promise<void> {
  const refuse = (reason: string): Failure => new Failure('BAD_REQUEST', { message: `No lines were read: ${reason}.` })
  for await (const chunk of requireLines(typeof input === 'string' ? [Buffer.from(input)] : input, { refuse })) {
    count.add(chunk)
    await writer.write(chunk)
  }
}

/** A failure for an invalid option of the import, in the query or in JSON. */
export function invalidOption (field: string, message: string, code?: string): Failure {
  return new Failure('VALIDATION_ERROR', { issues: [fieldIssue(field, message, code)] })
}

/** The type for a group's path or an R4 name. @throws {Failure} VALIDATION_ERROR */
export function parseResourceType (name: unknown, field = 'resourceType'): string {
  const type = mappings.find(({ path }) => path === name)?.type ?? name
  if (typeof type === 'string' && isTenantType(type)) return type
  throw invalidOption(field, 'expected a resource of this API, such as patients, or an R4 type, such as Patient')
}

/** Validates the sources in a client's request. @throws {Failure} VALIDATION_ERROR */
export function parseSources (list: unknown, rules: SourceRules, name = 'sources'): readonly Source[] {
  if (!Array.isArray(list) || list.length === 0 || list.length > maxSources) {
    throw invalidOption(name, `expected a list of 1 to ${maxSources} sources`)
  }
  return list.map((item, at) => parseSource(item, { field: `${name}[${at}]`, rules }))
}

function parseSource (
  item: unknown, { field, rules }: { readonly field: string, readonly rules: SourceRules }
): Source {
  const { resourceType, url, ...more } = (item ?? {}) as Record<string, unknown>
  if (typeof url !== 'string' || Object.keys(more).length > 0) {
    throw invalidOption(field, 'expected an object with url, and with resourceType if the lines do not have it')
  }
  try {
    parseSourceUrl(url, rules)
  } catch (error) {
    throw error instanceof SourceError ? invalidOption(`${field}.url`, error.message, 'processing') : error
  }
  return { type: resourceType === undefined ? null : parseResourceType(resourceType, `${field}.resourceType`), url }
}
