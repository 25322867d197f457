import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ClinigateError, parseRetryAfter } from '../../../client/errors.js'
import { CliError, isDiskError } from './errors.js'
import { readErrorResponse, toResponse, type Transfers } from './gateway.js'

/** A file of an export, and where it is to be. */
interface Download {
  /** After `/v1`. */
  readonly path: string
  readonly to: string
  /** The number of lines that the gateway reports. */
  readonly count: number
  /** Whether a file that is there already may be replaced. */
  readonly isForced: boolean
  readonly onBytes: (bytes: number, total: number) => void
}

/** The entity tag of a file, RFC 9110, section 8.8.3, and its size. */
interface Version { readonly etag: string, readonly bytes: number }

/**
 * Fetches a complete file. The transfer is compressed; after an interruption, the rest is requested by range, and a
 * later run resumes an earlier one. The file has its final name only when it is complete. @returns bytes
 */
export async function download (transfers: Transfers, request: Download): Promise<number> {
  const { path, to, count, isForced } = request
  const version = await transfers.retry(() => fetchVersion(transfers, path))
  if (!isForced && await getFileSize(to) !== undefined) {
    if (await getFileSize(to) === version.bytes && await countLines(to) === count) return version.bytes
    throw new CliError(
      `A different file exists where the export would write: ${to}. Choose another directory, or use --force.`
    )
  }
  // Its name contains the version's hash, so that a part of another version is never resumed.
  const part = `${to}.${createHash('sha256').update(version.etag).digest('hex').slice(0, 16)}.part`
  await fill(transfers, { ...request, part, version })
  if (await countLines(part) !== count) {
    await rm(part)
    throw new CliError('A file did not have as many lines as the gateway reported, so it was discarded.')
  }
  await rename(part, to)
  return version.bytes
}

async function fetchVersion (transfers: Transfers, path: string): Promise<Version> {
  const response = await transfers.attempt(path, {
    method: 'HEAD',
    headers: { accept: '*/*', 'accept-encoding': 'identity' }
  })
  const { statusCode, headers } = response
  await response.body.dump()
  const { etag, 'content-length': length } = headers
  if (statusCode === 200 && typeof etag === 'string' && typeof length === 'string') {
    return { etag, bytes: Number(length) }
  }
  const text =
    statusCode === 404
      ? 'The files of the job no longer exist. They are kept for a day.'
      : `A file of the job cannot be read (status ${statusCode}).`
  throw new ClinigateError(statusCode === 404 ? 'NOT_FOUND' : 'BACKEND_ERROR', text, {
    status: statusCode,
    retryAfter: parseRetryAfter(toResponse(response))
  })
}

interface PartialDownload extends Download { readonly part: string, readonly version: Version }

async function fill (transfers: Transfers, partial: PartialDownload): Promise<void> {
  const { part, version: { bytes } } = partial
  const handle = await open(part, await getFileSize(part) === undefined ? 'wx+' : 'r+', 0o600)
  try {
    let { size: index } = await handle.stat()
    // The timeout restarts whenever data arrives.
    while (index < bytes) {
      index = await transfers.retry(async () => await downloadNextRange(transfers, { ...partial, handle, index }))
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (await getFileSize(part) === bytes) return
  await rm(part)
  throw new CliError('A file was longer than the gateway reported, so it was discarded.')
}

/**
 * Writes the body of one response. @returns the offset at which the next one begins; rejects only when no data arrived
 */
async function downloadNextRange (
  transfers: Transfers,
  {
    path,
    version: { etag, bytes },
    handle,
    index,
    onBytes
  }: PartialDownload & { readonly handle: FileHandle; readonly index: number }
): Promise<number> {
  const headers: Record<string, string> =
    index === 0
      ? { 'accept-encoding': 'gzip' }
      : { 'accept-encoding': 'identity', range: `bytes=${index}-`, 'if-range': etag }
  const response = await transfers.attempt(path, { headers: { accept: '*/*', ...headers } })
  if (response.statusCode !== 200 && response.statusCode !== 206) throw await readErrorResponse(response)
  if (index > 0 && response.statusCode === 200) {
    await handle.truncate(0)
    if (response.headers.etag !== etag) throw new CliError('The file changed while it was read. Run the command again.')
  }
  const start = response.statusCode === 206 ? index : 0
  let end = start
  try {
    // Each chunk is awaited, so that after an interruption the number of bytes on the disk is known.
    for await (const chunk of decompressBody(response.body, response.headers['content-encoding'])) {
      if (end + chunk.length > bytes) throw new CliError('A file was longer than the gateway reported.')
      await handle.write(chunk, 0, chunk.length, end)
      end += chunk.length
      onBytes(end, bytes)
    }
  } catch (error) {
    if (error instanceof CliError || isDiskError(error) || end === start) throw error
  }
  if (end === start) throw new Error('no data arrived')
  return end
}

/** The decompressed bytes of a response. */
export function decompressBody (body: Readable, encoding: string | string[] | undefined): AsyncIterable<Buffer> {
  // Errors of either end the reading of it.
  return encoding === 'gzip' ? pipeline(body, createGunzip(), () => {}) : body
}

async function getFileSize (path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function countLines (path: string): Promise<number> {
  let lines = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 262_144 }) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
  }
  return lines
}
