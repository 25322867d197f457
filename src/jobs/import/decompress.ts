import { createGunzip } from 'node:zlib'
import { pipeline } from 'node:stream'
import { Failure } from '../../envelope/failures.js'

/**
 * How many times larger than the compressed content the decompressed content may be, beyond the first bytes: records as
 * text are 5 to 30 times as large.
 */
const maxTimes = 200
const freeBytes = 16 * 1024 * 1024

/**
 * Decompresses a stream, chunk by chunk. Of small content that would decompress to a huge size, it yields little more
 * than the free bytes.
 * @throws {Failure} UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, BAD_REQUEST
 */
export async function * decompress (chunks: AsyncIterable<Buffer>, encoding = 'identity'): AsyncGenerator<Buffer> {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return yield * chunks
  if (name !== 'gzip' && name !== 'x-gzip') {
    throw new Failure('UNSUPPORTED_MEDIA_TYPE', {
      message: 'Send the lines uncompressed or with Content-Encoding: gzip.'
    })
  }
  let sent = 0
  const received = new Received(chunks)
  const plain = pipeline(received, createGunzip(), () => {})
  try {
    for await (const chunk of plain as AsyncIterable<Buffer>) {
      sent += chunk.length
      if (sent > freeBytes + received.bytes * maxTimes) {
        throw new Failure('PAYLOAD_TOO_LARGE', {
          message: 'The decompressed content is too large. Send it uncompressed.'
        })
      }
      yield chunk
    }
  } catch (error) {
    if (/^Z_|^ERR_/.test((error as NodeJS.ErrnoException).code ?? '') && !received.hasFailed) {
      throw new Failure('BAD_REQUEST', { message: 'The content is not complete gzip data.' })
    }
    throw error
  }
}

/** The same chunks, with the number of bytes received so far, and whether the sender failed. */
class Received implements AsyncIterable<Buffer> {
  readonly #chunks: AsyncIterable<Buffer>
  bytes = 0
  hasFailed = false

  constructor (chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks
  }

  async * [Symbol.asyncIterator] (): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#chunks) {
        this.bytes += chunk.length
        yield chunk
      }
    } catch (error) {
      this.hasFailed = true
      throw error
    }
  }
}
