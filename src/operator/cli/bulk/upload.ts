import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline, Transform, type Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { describeReadError } from '../../../files/read-error.js'
import { CliError, isRefusal } from './errors.js'
import { readErrorResponse, type Transfers } from './gateway.js'

/** Lines to be sent, however many. */
interface Source {
  readonly open: () => Readable
  /** In bytes, where it is known. */
  readonly size?: number
  /** Whether it can be read from its beginning once more. */
  readonly isRepeatable: boolean
  readonly isZipped: boolean
}

/** How they are sent. */
interface Uploading {
  /** Of the URL, with its question mark; may be empty. */
  readonly query: string
  readonly onBytes: (bytes: number) => void
}

const segmentBytes = 262_144
const maxAttempts = 5
/** An upload that does not move for so long will not move any more. */
const stallMs = 120_000

/** The file, or standard input for `-`. @throws {CliError} */
export async function createSource (file: string, stdin: Readable): Promise<Source> {
  if (file === '-') return { open: () => stdin, isRepeatable: false, isZipped: false }
  const facts = await stat(file).catch((error: unknown) => {
    throw new CliError(`The file cannot be read: ${describeReadError(error)}.`)
  })
  if (facts.isDirectory()) throw new CliError('The file cannot be read: it is a directory.')
  const isZipped = /\.gz$/i.test(file)
  if (!facts.isFile()) return { open: () => createReadStream(file), isRepeatable: false, isZipped }
  // Data that is appended meanwhile is not part of this import.
  return {
    open: () =>
      createReadStream(file, { highWaterMark: segmentBytes, ...(facts.size > 0 && { end: facts.size - 1 }) }),
    size: facts.size,
    isRepeatable: true,
    isZipped
  }
}

/**
 * Sends the lines and resolves with the id of the job. The gateway makes a job only once it has all of them, so an
 * upload that broke halfway made none and is sent again, where the input can be read again. One that broke after its
 * last byte is not: the job may be there, and a second one would do, and count, everything twice.
 */
export async function upload (transfers: Transfers, source: Source, uploading: Uploading): Promise<string> {
  return await transfers.retry(async () => {
    const sent = { isComplete: false }
    try {
      return await uploadOnce(transfers, source, { ...uploading, sent })
    } catch (error) {
      // After a response that refuses, no job exists.
      if (error instanceof CliError || isRefusal(error) || !sent.isComplete) throw error
      throw new CliError(
        'The connection broke after everything was sent. Check with clinigate bulk jobs whether the import has started; if so, resume it with --job.'
      )
    }
  }, {
    attempts: source.isRepeatable ? maxAttempts : 1,
    maxPauseMs: Infinity,
    totalMs: Infinity,
    brokenText: 'The connection broke while the lines were sent. Nothing was imported. Run the command again.'
  })
}

async function uploadOnce (
  transfers: Transfers,
  source: Source,
  { query, onBytes, sent }: Uploading & { readonly sent: { isComplete: boolean } }
): Promise<string> {
  const counter = new Counter(onBytes)
  const input = source.open()
  const faults: Error[] = []
  // An error of the request ends the input too, and is not an input error.
  input.once('error', error => {
    if (!counter.destroyed) faults.push(error)
  })
  // Errors of either reach the request by the counter.
  pipeline(input, counter, () => {})
  const stalled = new AbortController()
  const watch = setInterval(() => {
    if (!counter.hasMoved()) stalled.abort()
  }, stallMs)
  try {
    const headers = { 'content-type': 'application/x-ndjson', ...(source.isZipped && { 'content-encoding': 'gzip' }) }
    // The writer of a pipe may be slow without limit; a connection that accepts no data is detected by the watch.
    const response = await transfers.attempt(`/bulk/import${query}`, {
      method: 'POST',
      headers,
      body: counter,
      headersTimeout: 0,
      signal: stalled.signal
    })
    return await readJobId(response)
  } catch (error) {
    if (faults.length > 0) throw new CliError('The input could not be read completely. Nothing was imported.')
    throw error
  } finally {
    sent.isComplete = counter.readableEnded
    clearInterval(watch)
    counter.destroy()
    input.destroy()
  }
}

async function readJobId (response: Dispatcher.ResponseData): Promise<string> {
  if (response.statusCode !== 202) throw await readErrorResponse(response)
  const { data } = await response.body.json() as { readonly data: { readonly jobId: string } }
  return data.jobId
}

/** Counts the bytes that pass through it. */
class Counter extends Transform {
  #bytes = 0
  #lastBytes = -1

  constructor (private readonly onBytes: (bytes: number) => void) { super({ highWaterMark: segmentBytes }) }

  override _transform (chunk: Buffer, _: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.#bytes += chunk.length
    this.onBytes(this.#bytes)
    done(null, chunk)
  }

  /** Whether any data passed since the last call, or there is none to send. */
  hasMoved (): boolean {
    const isMoving = this.#bytes !== this.#lastBytes || (this.readableLength === 0 && !this.readableEnded)
    this.#lastBytes = this.#bytes
    return isMoving
  }
}
