import { createHmac, randomFillSync, timingSafeEqual } from 'node:crypto'
import { decrypt, encrypt, nonceBytes, tagBytes } from '../../files/authenticated-encryption.js'
import { Failure, type FailureCode, type Issue } from '../../envelope/failures.js'
import { corruptFile } from '../storage/storage-errors.js'
import type { IndexedLine } from './index-rows.js'

/** The outcome of one line; `pending` until it is known. */
export type ResultStatus = 'created' | 'updated' | 'unchanged' | 'failed' | 'valid' | 'pending'

/** The result of one line, without the other columns of the index. It contains no value of the line. */
export interface Result {
  readonly status: Exclude<ResultStatus, 'pending'>
  /** The id of the stored record. */
  readonly id?: string
  /** A code of the error catalog. */
  readonly code?: FailureCode
  readonly message?: string
  /** The first field at fault, as the form of the line names it. */
  readonly field?: string
  /** What a single write would have in `meta.warnings`; of many, the first ones. */
  readonly warnings?: readonly Issue[]
}

/** Maximum number of fields at fault in a message, and of warnings; a line may have thousands. */
const maxReported = 5

/** The warnings of a result, of which there are none where nothing is to be said. */
export function warned (warnings: readonly Issue[]): Pick<Result, 'warnings'> {
  if (warnings.length === 0) return {}
  const [first, others] = [warnings.slice(0, maxReported), warnings.length - maxReported]
  const rest: Issue[] =
    others <= 0 ? [] : [{ severity: 'warning', code: 'informational', diagnostics: `and ${others} more warnings` }]
  return { warnings: [...first, ...rest] }
}

/** Converts a failure to the result of a line. */
export function failed ({ code, lastingMessage: message, issues }: Failure): Result {
  const text =
    issues.length === 0
      ? message
      : issues
        .slice(0, maxReported)
        .map(({ diagnostics }) => diagnostics)
        .join('; ')
  const field = issues[0]?.expression?.[0]
  return {
    status: 'failed',
    code,
    message: issues.length > maxReported ? `${text}; and ${issues.length - maxReported} more` : text,
    ...(field !== undefined && { field })
  }
}

/** The properties of a line when it was read. */
type ReadSpan = Pick<IndexedLine, 'line' | 'at' | 'bytes' | 'type' | 'identity'>

/** Random nonces. Requesting many from the system at once takes as long as requesting one. */
class Nonces {
  readonly #random = Buffer.alloc(nonceBytes * 512)
  #at = this.#random.length

  /** @returns a new nonce in its own buffer */
  next (): Buffer {
    if (this.#at === this.#random.length) {
      randomFillSync(this.#random)
      this.#at = 0
    }
    this.#at += nonceBytes
    return Buffer.from(this.#random.subarray(this.#at - nonceBytes, this.#at))
  }
}

/**
 * Encrypts results and authenticates the entries of lines, so that an index on disk identifies no record, and only the
 * gateway can make entries and results of lines.
 */
export class ResultCipher {
  readonly #key: Buffer
  readonly #lineKey: Buffer
  readonly #nonces = new Nonces()

  /** @param fileKey the key that encrypts the job's files, in base64 */
  constructor (fileKey: string) {
    const keyFor = (use: string): Buffer => createHmac('sha256', Buffer.from(fileKey, 'base64')).update(use).digest()
    this.#key = keyFor('results of an import')
    this.#lineKey = keyFor('lines of an import')
  }

  ofLine ({ line, at, bytes, type, identity }: ReadSpan): string {
    return createHmac('sha256', this.#lineKey)
      .update(`${line} ${at} ${bytes} ${type} ${identity}`)
      .digest('hex')
      .slice(0, 2 * tagBytes)
  }

  /** @throws {Failure} INTERNAL_ERROR for a line that differs from when it was read */
  require (line: ReadSpan & Pick<IndexedLine, 'seal'>): void {
    const bytes = Buffer.from(String(line.seal), 'hex')
    if (bytes.length !== tagBytes || !timingSafeEqual(bytes, Buffer.from(this.ofLine(line), 'hex'))) {
      throw corruptFile('a line is not where it was when it was read')
    }
  }

  close (line: number, result: Result): Buffer {
    const nonce = this.#nonces.next()
    const encryption = { key: this.#key, nonce, associatedData: toHeader(line) }
    return Buffer.concat([nonce, ...encrypt(encryption, Buffer.from(JSON.stringify(result)))])
  }

  /** @throws {Failure} INTERNAL_ERROR for data that was not encrypted as the result of this line */
  open (line: number, sealed: Buffer): Result {
    const encryption = { key: this.#key, nonce: sealed.subarray(0, nonceBytes), associatedData: toHeader(line) }
    const plain = decrypt(encryption, sealed.subarray(nonceBytes))
    if (plain === undefined) throw corruptFile('the result of a line is not the one that was stored')
    return JSON.parse(plain.toString()) as Result
  }
}

/** Prevents the result of one line from being accepted for another. */
function toHeader (line: number): Buffer {
  const header = Buffer.alloc(8)
  header.writeBigUInt64BE(BigInt(line))
  return header
}
