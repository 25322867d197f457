import type { Cipher } from 'node:crypto'
import { constants } from 'node:fs'
import { open, statfs, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { cipherFrom, newPiece, pieceBytes, printPiece, type Piece } from './cipher.js'
import { inTrouble, noRoom } from './spool-trouble.js'
import type { FileWriter } from './work.js'

/** How much gathers before it goes to the disk. */
const gatheredBytes = 262_144

/** How much is written between two looks at what is left of the disk. */
const lookedAfterBytes = 33_554_432

/** What a file is written with. */
export interface WriterOptions {
  readonly path: string
  /** Of its list of pieces. */
  readonly listPath: string
  readonly key: Uint8Array
  readonly from: number
  /** What is to stay free on the disk, since others write there too. */
  readonly reserveBytes: number
  /** Throws when somebody else may be writing. */
  readonly requireHeld: () => void
}

/**
 * Opens a file to be written from a place on.
 *
 * Why no keystream is used twice: whoever opens a file first cuts it, then notes a new piece with a number of 128 random bits,
 * and encrypts what follows with it, each place once, since a writer only ever goes forward. The note is on the disk before the
 * first byte that needs it. So two contents of the same place always belong to two pieces, and the counters of two pieces meet
 * by chance alone: for a thousand pieces of a terabyte with a likelihood below 2^-70.
 * @throws {Failure} BACKEND_UNAVAILABLE when there is no room
 */
export async function openWriter (options: WriterOptions): Promise<FileWriter> {
  return await inTrouble(async () => {
    const { path, listPath, from, key } = options
    await requireRoom(options)
    options.requireHeld()
    const file = await open(path, from === 0 ? constants.O_RDWR | constants.O_CREAT : 'r+', 0o600)
    try {
      if ((await file.stat()).size < from) throw new Error('a file of a job is shorter than the place to go on from')
      await file.truncate(from)
      await file.datasync()
      const piece = newPiece(from)
      await note(listPath, piece)
      return new EncryptedWriter(file, cipherFrom(key, piece, from), options)
    } catch (error) {
      await file.close()
      throw error
    }
  })
}

/** Always added, never put in the place of another one, so that whoever reads meanwhile sees that the list has grown. */
async function note (listPath: string, piece: Piece): Promise<void> {
  const list = await open(listPath, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { size } = await list.stat()
    const whole = size - size % pieceBytes
    if (piece.start > 0 && whole === 0) throw new Error('the list of pieces of a file of a job is missing')
    await list.write(printPiece(piece), 0, pieceBytes, whole)
    await list.datasync()
  } finally {
    await list.close()
  }
}

async function requireRoom ({ path, reserveBytes }: Pick<WriterOptions, 'path' | 'reserveBytes'>): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path))
  if (bavail * bsize < reserveBytes) throw noRoom(new Error(`less than ${reserveBytes} bytes are free`))
}

class EncryptedWriter implements FileWriter {
  readonly #file: FileHandle
  readonly #cipher: Cipher
  readonly #options: WriterOptions
  #gathered: Buffer[] = []
  #gatheredBytes = 0
  #unlooked = 0
  #place: number
  #bytes: number
  #writing: Promise<void> = Promise.resolve()

  constructor (file: FileHandle, cipher: Cipher, options: WriterOptions) {
    this.#file = file
    this.#cipher = cipher
    this.#options = options
    this.#place = this.#bytes = options.from
  }

  get bytes (): number {
    return this.#bytes
  }

  async write (bytes: Uint8Array): Promise<void> {
    // Encrypted and put in its place before anything is waited for, so that calls that overlap keep their order.
    this.#gathered.push(this.#cipher.update(bytes))
    this.#bytes += bytes.length
    this.#gatheredBytes += bytes.length
    if (this.#gatheredBytes >= gatheredBytes) await this.#drain()
  }

  async flush (): Promise<void> {
    await this.#drain()
    await inTrouble(() => this.#file.datasync())
  }

  async close (): Promise<void> {
    try {
      await this.flush()
    } finally {
      await this.#file.close()
    }
  }

  /** One after another; after one that failed, all fail, for there is a hole. */
  #drain (): Promise<void> {
    const bytes = Buffer.concat(this.#gathered)
    this.#gathered = []
    this.#gatheredBytes = 0
    this.#writing = this.#writing.then(() => inTrouble(() => this.#put(bytes)))
    this.#writing.catch(() => {})
    return this.#writing
  }

  async #put (bytes: Buffer): Promise<void> {
    this.#unlooked += bytes.length
    if (this.#unlooked >= lookedAfterBytes) {
      await requireRoom(this.#options)
      this.#unlooked = 0
    }
    for (let done = 0; done < bytes.length;) {
      this.#options.requireHeld()
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.#place)
      done += bytesWritten
      this.#place += bytesWritten
    }
  }
}
