import { createHmac, createSecretKey, randomFillSync, type KeyObject } from 'node:crypto'
import { decrypt, encrypt, nonceBytes } from '../../files/authenticated-encryption.js'
import { Failure, type FailureCode, type Issue } from '../../envelope/failures.js'
import { corruptFile } from '../storage/storage-errors.js'

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
  /** The `meta.warnings` of a single write; of many, the first ones. */
  readonly warnings?: readonly Issue[]
}

/** Maximum number of fields at fault in a message, and of warnings; a line may have thousands. */
const maxReported = 5

/** The warnings of a result; absent if there are none. */
export function toResultWarnings (warnings: readonly Issue[]): Pick<Result, 'warnings'> {
  if (warnings.length === 0) return {}
  const [first, others] = [warnings.slice(0, maxReported), warnings.length - maxReported]
  const rest: Issue[] =
    others <= 0 ? [] : [{ severity: 'warning', code: 'informational', diagnostics: `and ${others} more warnings` }]
  return { warnings: [...first, ...rest] }
}

/** Converts a failure to the result of a line. */
export function toFailedResult ({ code, lastingMessage: message, issues }: Failure): Result {
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

/** Random nonces. Requesting many from the system at once takes as long as requesting one. */
class Nonces {
  readonly #random = Buffer.alloc(nonceBytes * 512)
  #position = this.#random.length

  /** @returns a new nonce in its own buffer */
  next (): Buffer {
    if (this.#position === this.#random.length) {
      randomFillSync(this.#random)
      this.#position = 0
    }
    this.#position += nonceBytes
    return Buffer.from(this.#random.subarray(this.#position - nonceBytes, this.#position))
  }
}

/** Encrypts and authenticates what an import stores, by the job's key. */
export class Sealer {
  readonly #key: KeyObject
  readonly #nonces = new Nonces()

  /**
   * @param fileKey the key that encrypts the job's files, in base64
   * @param use the kind of encrypted content; each has a key of its own
   */
  constructor (fileKey: string, use: string) {
    this.#key = createSecretKey(createHmac('sha256', Buffer.from(fileKey, 'base64')).update(use).digest())
  }

  /** @param header what it belongs to, and can only be opened with */
  close (plain: Uint8Array, header: Uint8Array): Buffer {
    const nonce = this.#nonces.next()
    return Buffer.concat([nonce, ...encrypt({ key: this.#key, nonce, associatedData: header }, plain)])
  }

  /** Returns undefined for anything but what was encrypted with this header. */
  open (sealed: Buffer, header: Uint8Array): Buffer | undefined {
    const encryption = { key: this.#key, nonce: sealed.subarray(0, nonceBytes), associatedData: header }
    return decrypt(encryption, sealed.subarray(nonceBytes))
  }
}

/** Encrypts the results of lines, so that an index on disk identifies no record, and only the gateway can make one. */
export class ResultCipher {
  readonly #sealer: Sealer

  /** @param fileKey the key that encrypts the job's files, in base64 */
  constructor (fileKey: string) {
    this.#sealer = new Sealer(fileKey, 'results of an import')
  }

  close (line: number, result: Result): Buffer {
    return this.#sealer.close(Buffer.from(JSON.stringify(result)), toHeader(line))
  }

  /** @throws {Failure} INTERNAL_ERROR for data that was not encrypted as the result of this line */
  open (line: number, sealed: Buffer): Result {
    const plain = this.#sealer.open(sealed, toHeader(line))
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
