import { close, closeSync, fdatasync, fsync, ftruncateSync, open, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { toJournalPath, type JournalEnd } from './journal-files.js'

interface JournalOptions {
  /** The database that takes the entries; the journal's files are in its directory. */
  readonly database: string
  /** The size from which a new file is begun, in bytes. */
  readonly fileBytes: number
  /** The number of changes under way: those that wait for the disk, and those that will. */
  readonly underWay: () => number
}

interface QueuedLine {
  readonly line: string
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * How long the first change waits for others that are under way, so that they share one sync: it takes a fifth of the
 * processor time of a create.
 */
const gatherMs = 5

/** How long a line may be in the file before it is on the disk, if no other line needs it earlier. */
const maxSyncDelayMs = 100

/**
 * Appends lines to a file. A line that was written survives the end of the process; one that was synced, a power
 * failure. Writing is a copy in memory and happens at once; a sync takes a thread of libuv's, one for all lines that
 * wait.
 */
export class Journal {
  readonly #options: JournalOptions
  #number: number
  #file: number | undefined
  /** The size of the part of the file that is completely written. */
  #size = 0
  #isNew = true
  #bytes = 0
  #waiting: QueuedLine[] = []
  #isSyncing = false
  #gatherTimer: NodeJS.Timeout | undefined
  #flushTimer: NodeJS.Timeout | undefined

  /** @param number of the first file, which no file has had yet */
  constructor (number: number, options: JournalOptions) {
    this.#number = number
    this.#options = options
  }

  /** How far it is written. */
  get end (): JournalEnd {
    return { number: this.#number, size: this.#size }
  }

  /** The number of bytes that were written since the start. */
  get bytes (): number {
    return this.#bytes
  }

  /** Writes a line, which is on the disk soon. @throws what the disk does; then the line is not written */
  append (line: string): void {
    this.#write(line)
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined
      if (!this.#isSyncing) this.#flush()
    }, maxSyncDelayMs).unref()
  }

  /** Resolves when the line is on the disk. Rejects if that is not certain. */
  commit (line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, resolve, reject })
      if (!this.#isSyncing) this.#flushSoon()
    })
  }

  /** Syncs what waits, and closes the file. */
  async close (): Promise<void> {
    await this.commit('').catch(() => {})
    clearTimeout(this.#flushTimer)
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #flushSoon (): void {
    if (this.#waiting.length >= this.#options.underWay()) this.#flush()
    else this.#gatherTimer ??= setTimeout(() => this.#flush(), gatherMs)
  }

  /** Writes what waits, and syncs the file. */
  #flush (): void {
    clearTimeout(this.#gatherTimer)
    this.#gatherTimer = undefined
    const taken = this.#waiting.splice(0)
    const reject = (error: unknown) => { for (const each of taken) each.reject(error) }
    try {
      if (this.#size >= this.#options.fileBytes) this.#rotateFile()
      this.#write(taken.map(({ line }) => line).join(''))
    } catch (error) {
      return reject(error)
    }
    this.#isSyncing = true
    this.#sync(error => {
      this.#isSyncing = false
      if (error === null) for (const { resolve } of taken) resolve()
      else {
        reject(error)
        // What a file holds after a sync failed is unknown.
        this.#rotateFile()
      }
      if (this.#waiting.length > 0) this.#flushSoon()
    })
  }

  #write (text: string): void {
    const bytes = Buffer.from(text)
    const file = this.#openFile()
    try {
      for (let written = 0; written < bytes.length;) {
        written += writeSync(file, bytes, written, bytes.length - written, this.#size + written)
      }
    } catch (error) {
      try {
        ftruncateSync(file, this.#size)
      } catch {
        this.#rotateFile()
      }
      throw error
    }
    this.#size += bytes.length
    this.#bytes += bytes.length
  }

  #openFile (): number {
    this.#file ??= openSync(toJournalPath(this.#options.database, this.#number), 'wx', 0o600)
    return this.#file
  }

  /** Lets the next line begin a new file. */
  #rotateFile (): void {
    const file = this.#file
    if (file !== undefined) fdatasync(file, () => close(file, () => {}))
    this.#file = undefined
    this.#size = 0
    this.#number++
    this.#isNew = true
  }

  #sync (done: (error: Error | null) => void): void {
    const file = this.#openFile()
    if (!this.#isNew) return fdatasync(file, done)
    // The name of a new file must be on the disk, too.
    syncDirectory(dirname(this.#options.database), error => {
      if (error !== null) return done(error)
      this.#isNew = false
      fdatasync(file, done)
    })
  }
}

function syncDirectory (path: string, done: (error: Error | null) => void): void {
  open(path, 'r', (error, directory) => {
    if (error !== null) return done(error)
    fsync(directory, error => close(directory, () => done(error)))
  })
}
