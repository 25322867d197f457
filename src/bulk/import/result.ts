import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { Failure, type FailureCode } from '../../envelope/failures.js'

/** What became of one line; `pending` until it is known. */
export type ResultStatus = 'created' | 'updated' | 'unchanged' | 'failed' | 'valid' | 'pending'

/** The result of one line, without what the index has beside it. No value of the line is in it. */
export interface Result {
  readonly status: Exclude<ResultStatus, 'pending'>
  /** Of the stored record. */
  readonly id?: string
  /** A word of the error catalog. */
  readonly code?: FailureCode
  readonly message?: string
  /** The first field at fault, as the form of the line names it. */
  readonly field?: string
}

/** Fields at fault that a message tells; a line may have thousands. */
const mostTold = 5

/** A failure as the result of a line. */
export function failed ({ code, message, issues }: Failure): Result {
  const says = issues.length === 0 ? message : issues.slice(0, mostTold).map(({ diagnostics }) => diagnostics).join('; ')
  const field = issues[0]?.expression?.[0]
  return { status: 'failed', code, message: issues.length > mostTold ? `${says}; and ${issues.length - mostTold} more` : says, ...field !== undefined && { field } }
}

/** Encrypts the results of one import, each once, so that an index which is left on a disk names no record. */
export class Seal {
  readonly #key: Buffer

  /** @param fileKey what the job's files are encrypted with, in base64 */
  constructor (fileKey: string) {
    this.#key = createHmac('sha256', Buffer.from(fileKey, 'base64')).update('results of an import').digest()
  }

  close (line: number, result: Result): Buffer {
    const cipher = createCipheriv('aes-256-ctr', this.#key, placeOf(line))
    return Buffer.concat([cipher.update(JSON.stringify(result), 'utf8'), cipher.final()])
  }

  open (line: number, sealed: Buffer): Result {
    const decipher = createDecipheriv('aes-256-ctr', this.#key, placeOf(line))
    return JSON.parse(Buffer.concat([decipher.update(sealed), decipher.final()]).toString()) as Result
  }
}

/** Each line has a stretch of the key stream of its own. */
function placeOf (line: number): Buffer {
  const place = Buffer.alloc(16)
  place.writeBigUInt64BE(BigInt(line))
  return place
}
