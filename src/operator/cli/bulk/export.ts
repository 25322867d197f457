import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BulkJob, ExportDraft } from '../../../client/index.js'
import type { ExportFormat } from '../../../jobs/model/job.js'
import { ensureDirectory } from '../../../files/ensure.js'
import { ExitWithFindings } from '../context.js'
import { formatInteger } from '../table.js'
import { download } from './download.js'
import {
  waitForJob, formatJobEnd, withResumeHint, quoteForShell, requireKind, createProgressBar, createTransferProgress,
  type JobOptions
} from './follow.js'
import type { Session } from './gateway.js'
import { CliError } from './errors.js'

/** The selection of an export, and its directory. */
export interface ExportOptions extends JobOptions {
  readonly to: string
  readonly types?: readonly string[]
  readonly since?: Date
  readonly format?: ExportFormat
}

/** The content of the state file in the directory: the job that its files belong to. */
interface ExportState { readonly jobId: string, readonly createdAt?: string, readonly files?: readonly FetchedFile[] }

interface FetchedFile {
  readonly file: string
  readonly resourceType: string
  readonly count: number
  readonly bytes: number
}

const noteFile = 'export.json'

/** Exports records into a directory, a file for each type; with a job, continues an earlier run. */
export async function runExport (session: Session, options: ExportOptions): Promise<void> {
  const { to, job: begun, force } = options
  if (begun !== undefined) await requireKind(session, begun, 'export')
  ensureDirectory(to)
  if (force !== true) await requireFree(to, begun)
  const jobId = begun ?? await start(session, options)
  await writeNote(to, { jobId })
  const path = options.url === undefined ? '' : ` --url ${quoteForShell(options.url)}`
  const again = `clinigate bulk export --job ${jobId} --to ${quoteForShell(to)}${path}`
  await withResumeHint(session, { jobId, again, cancelOnInterrupt: options.cancelOnInterrupt === true }, async () => {
    await finish(session, await waitForJob(session, jobId), options)
  })
}

/** Existing files are overwritten only on request; those of the same job are continued. */
async function requireFree (directory: string, jobId: string | undefined): Promise<void> {
  const names = await readdir(directory)
  if (!names.some(name => name === noteFile || name.endsWith('.ndjson'))) return
  if (jobId !== undefined && await readJobId(directory) === jobId) return
  throw new CliError(
    `The directory ${directory} already contains an export. Choose an empty one, or use --force to overwrite it.`
  )
}

async function readJobId (directory: string): Promise<string | undefined> {
  const file = join(directory, noteFile)
  if (!existsSync(file)) return undefined
  try {
    return (JSON.parse(await readFile(file, 'utf8')) as ExportState).jobId
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const writeNote = async (directory: string, content: ExportState): Promise<void> =>
  await writeFile(join(directory, noteFile), `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })

async function start ({ client, signal, err }: Session, { types, since, format }: ExportOptions): Promise<string> {
  const draft = {
    // The gateway refuses a type that it does not know.
    ...(types && { resourceTypes: types as NonNullable<ExportDraft['resourceTypes']> }),
    ...(since && { since: since.toISOString() }),
    ...(format && { format })
  }
  const jobId = await client.bulk.export(draft, { signal })
  err(`The export is running as job ${jobId}.\n`)
  return jobId
}

async function finish (session: Session, job: BulkJob, options: ExportOptions): Promise<void> {
  const { out, err, isJson } = session
  const { id: jobId, status, createdAt, failure } = job
  const { to: directory } = options
  if (status !== 'completed') {
    if (isJson) out(`${JSON.stringify({ jobId, status, directory, ...failure && { failure } })}\n`)
    err(formatJobEnd(job))
    throw new ExitWithFindings()
  }
  const files: FetchedFile[] = []
  for (const file of job.files) files.push(await fetchFile(session, { file, jobId, options }))
  await writeNote(directory, { jobId, createdAt, files })
  const records = files.reduce((sum, { count }) => sum + count, 0)
  if (isJson) out(`${JSON.stringify({ jobId, status, createdAt, directory, records, files })}\n`)
  else {
    out(
      files.map(({ file, count }) => `${file}  ${formatInteger(count)}\n`).join('') +
        `${formatInteger(records)} records in ${directory}\n`
    )
  }
}

interface ExportTarget {
  readonly file: BulkJob['files'][number]
  readonly jobId: string
  readonly options: ExportOptions
}

async function fetchFile (
  { transfers, streams }: Session,
  { file: { resourceType, count, url }, jobId, options }: ExportTarget
): Promise<FetchedFile> {
  // Only the name: the URL may be reachable for others only, and the key is sent only to the configured URL.
  const name = /\/([A-Za-z0-9][A-Za-z0-9_-]{0,99}\.ndjson)$/.exec(url)?.[1]
  if (name === undefined) throw new CliError('The gateway used a file name that this version does not understand.')
  const meter = createProgressBar(streams.stderr)
  let standing: ReturnType<typeof createTransferProgress> | undefined
  try {
    const bytes = await download(transfers, {
      path: `/bulk/jobs/${jobId}/files/${name}`,
      to: join(options.to, name),
      count,
      isForced: options.force === true,
      onBytes: (bytes, total) => meter.show((standing ??= createTransferProgress(name, total))(bytes))
    })
    return { file: name, resourceType, count, bytes }
  } finally {
    meter.end()
  }
}
