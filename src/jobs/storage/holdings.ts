import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isJobId, type JobScope } from '../model/job.js'
import { tooLarge, quotaExceeded } from './storage-errors.js'

/** The name of the empty file by which a job's folder tells whose it is. No file of a job begins with a dot. */
export function ownerHash ({ tenantId, mode }: JobScope): string {
  return `.of-${createHash('sha256').update(`${tenantId} ${mode}`).digest('hex').slice(0, 32)}`
}

/** What the smallest file takes of a disk. */
const blockBytes = 4_096

/** For how long a look is good enough while there is room. */
const retentionMs = 1_000
/** In any case for so many times what it took: many folders cost no more than few. */
const maxRecentTimes = 20

/** The folder of a job, and the mark of whose it is. */
interface OwnedFolder { readonly id: string, readonly mark: string }

/** Bytes in folders, summed up by owner. */
class Tally {
  readonly #folders = new Map<string, OwnedFolder & { readonly bytes: number }>()
  readonly #sums = new Map<string, number>()

  add ({ id, mark }: OwnedFolder, bytes: number): void {
    this.#folders.set(id, { id, mark, bytes: (this.#folders.get(id)?.bytes ?? 0) + bytes })
    this.#sums.set(mark, this.of(mark) + bytes)
  }

  addAll (other: Tally): void {
    for (const folder of other.#folders.values()) this.add(folder, folder.bytes)
  }

  drop (id: string): void {
    const folder = this.#folders.get(id)
    if (folder === undefined) return
    this.#folders.delete(id)
    this.#sums.set(folder.mark, this.of(folder.mark) - folder.bytes)
  }

  of (mark: string): number {
    return this.#sums.get(mark) ?? 0
  }
}

/**
 * What the files of each organization take up in a spool, live and test apart, whatever became of their jobs. The disk
 * itself is asked, so that all count that is on it: uploads that have no job yet, databases, and what other gateways
 * write to the same directory.
 */
export class DiskQuota {
  readonly #directory: string
  readonly #max: number
  #found = new Tally()
  /** Since that was begun. */
  #written = new Tally()
  /** Folders that were deleted since. */
  #deleted = new Set<string>()
  #last = { endedAt: -Infinity, tookMs: 0 }
  #looking: Promise<void> | undefined

  constructor ({ directory, max }: { readonly directory: string, readonly max: number }) {
    this.#directory = directory
    this.#max = max
  }

  /**
   * Looks whether an owner's files may be so much larger.
   * @throws {Failure} PAYLOAD_TOO_LARGE when that would be too much by itself, RATE_LIMITED when it is with what is
   * there
   */
  async require (mark: string, bytes: number): Promise<void> {
    if (bytes > this.#max) throw tooLarge(this.#max)
    await this.#look(retentionMs)
    // Something may be gone by now.
    if (this.#heldBy(mark) + bytes > this.#max) await this.#look(0)
    if (this.#heldBy(mark) + bytes > this.#max) throw quotaExceeded(this.#max)
  }

  /** The same, and counts it as written. `fileBytes` is how large the file becomes by it. */
  async take (folder: OwnedFolder, bytes: number, fileBytes: number): Promise<void> {
    if (fileBytes > this.#max) throw tooLarge(this.#max)
    await this.require(folder.mark, bytes)
    this.#written.add(folder, bytes)
  }

  /** Counts a folder no more, at once: it was deleted. */
  forget (id: string): void {
    this.#found.drop(id)
    this.#written.drop(id)
    this.#deleted.add(id)
  }

  #heldBy (mark: string): number {
    return this.#found.of(mark) + this.#written.of(mark)
  }

  /** Has a look that is no older than it may be; those who ask meanwhile wait for the same. */
  async #look (maxMs: number): Promise<void> {
    const { endedAt, tookMs } = this.#last
    if (performance.now() < endedAt + Math.max(maxMs, tookMs * maxRecentTimes)) return
    this.#looking ??= this.#lookNow().finally(() => { this.#looking = undefined })
    await this.#looking
  }

  async #lookNow (): Promise<void> {
    const begunAt = performance.now()
    // What is written meanwhile may be found too: it counts twice until the next look rather than not at all.
    const before = this.#written
    this.#written = new Tally()
    this.#deleted = new Set()
    try {
      this.#found = await heldIn(this.#directory)
    } catch (error) {
      this.#written.addAll(before)
      throw error
    }
    for (const id of this.#deleted) this.#found.drop(id)
    const endedAt = performance.now()
    this.#last = { endedAt, tookMs: endedAt - begunAt }
  }
}

async function heldIn (directory: string): Promise<Tally> {
  const held = new Tally()
  // One after the other: nobody else's files wait for this.
  for (const id of (await readdir(directory)).filter(isJobId)) {
    const names = await namesIn(join(directory, id))
    const mark = names.find(name => name.startsWith('.of-'))
    if (mark === undefined) continue
    const sizes = await Promise.all(names.map(name => sizeOf(join(directory, id, name))))
    held.add({ id, mark }, sizes.reduce((sum, size) => sum + size, 0))
  }
  return held
}

/** Of a folder; none of one that was deleted meanwhile. */
async function namesIn (folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(none([]))
}

async function sizeOf (path: string): Promise<number> {
  return await stat(path).then(({ size }) => Math.max(size, blockBytes)).catch(none(0))
}

const none = <T>(nothing: T) => (error: NodeJS.ErrnoException): T => {
  if (error.code === 'ENOENT') return nothing
  throw error
}
