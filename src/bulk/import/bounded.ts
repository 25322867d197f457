import { createGunzip } from 'node:zlib'
import { pipeline, type Readable } from 'node:stream'
import { Failure } from '../../envelope/failures.js'

/** How much larger than what came compressed content may be, beyond the first bytes: text of records is 5 to 30 times as large. */
const mostTimes = 200
const freeBytes = 16 * 1024 * 1024

/**
 * A stream as it was before its content encoding, in pieces; of a small one that would become a large one no more than was free.
 * @throws {Failure} UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST
 */
export async function * inflated (stream: Readable, encoding = 'identity'): AsyncGenerator<Buffer> {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return yield * stream as AsyncIterable<Buffer>
  if (name !== 'gzip' && name !== 'x-gzip') throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'Send the lines uncompressed or with Content-Encoding: gzip.' })
  let sent = 0
  let received = 0
  stream.on('data', (chunk: Buffer) => { received += chunk.length })
  const plain = pipeline(stream, createGunzip(), () => {})
  try {
    for await (const chunk of plain as AsyncIterable<Buffer>) {
      sent += chunk.length
      if (sent > freeBytes + received * mostTimes) throw new Failure('PAYLOAD_TOO_LARGE', { message: 'The decompressed content is too large. Send it uncompressed.' })
      yield chunk
    }
  } catch (error) {
    if (/^Z_|^ERR_/.test((error as NodeJS.ErrnoException).code ?? '') && !stream.errored) throw new Failure('BAD_REQUEST', { message: 'The content is not complete gzip data.' })
    throw error
  }
}
