import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isJobId, type JobScope } from '../model/job.js'
import { tooLarge, quotaExceeded } from './storage-errors.js'

/** The name of the empty file that identifies the owner of a job's folder. No file of a job begins with a dot. */
export function hashOwner ({ tenantId, mode }: JobScope): string {
  return `.of-${createHash('sha256').update(`${tenantId} ${mode}`).digest('hex').slice(0, 32)}`
}

/** The disk space of the smallest file. */
const blockBytes = 4_096

/** How long a scan of the disk stays valid while the limit is not reached. */
const retentionMs = 1_000
/** In any case, a scan stays valid for this multiple of its duration, so that many folders cost no more than few. */
const maxRecentTimes = 20

/** A job's folder, and the {@link hashOwner} of its owner. */
interface OwnedFolder { readonly id: string, readonly ownerTag: string }

/** Bytes in folders, summed up by owner. */
class Tally {
  readonly #folders = new Map<string, OwnedFolder & { readonly bytes: number }>()
  readonly #sums = new Map<string, number>()

  add ({ id, ownerTag }: OwnedFolder, bytes: number): void {
    this.#folders.set(id, { id, ownerTag, bytes: (this.#folders.get(id)?.bytes ?? 0) + bytes })
    this.#sums.set(ownerTag, this.getBytes(ownerTag) + bytes)
  }

  addAll (other: Tally): void {
    for (const folder of other.#folders.values()) this.add(folder, folder.bytes)
  }

  drop (id: string): void {
    const folder = this.#folders.get(id)
    if (folder === undefined) return
    this.#folders.delete(id)
    this.#sums.set(folder.ownerTag, this.getBytes(folder.ownerTag) - folder.bytes)
  }

  getBytes (ownerTag: string): number {
    return this.#sums.get(ownerTag) ?? 0
  }
}

/**
 * The disk usage of each organization's files in a spool, separately for live and test, of jobs in any state. It is
 * read from the disk, so that it includes uploads without a job yet, databases, and files of other gateways in the same
 * directory.
 */
export class DiskQuota {
  readonly #directory: string
  readonly #max: number
  #scanned = new Tally()
  /** Bytes written since the last scan began. */
  #written = new Tally()
  /** Folders deleted since then. */
  #deleted = new Set<string>()
  #last = { endedAt: -Infinity, tookMs: 0 }
  #pendingScan: Promise<void> | undefined

  constructor ({ directory, max }: { readonly directory: string, readonly max: number }) {
    this.#directory = directory
    this.#max = max
  }

  /**
   * Checks whether an owner's files may grow by so many bytes.
   * @throws {Failure} PAYLOAD_TOO_LARGE when they exceed the limit alone, RATE_LIMITED when they exceed it with the
   * existing files
   */
  async require (ownerTag: string, bytes: number): Promise<void> {
    if (bytes > this.#max) throw tooLarge(this.#max)
    await this.#refresh(retentionMs)
    // Files may have been deleted by now.
    if (this.#getUsage(ownerTag) + bytes > this.#max) await this.#refresh(0)
    if (this.#getUsage(ownerTag) + bytes > this.#max) throw quotaExceeded(this.#max)
  }

  /** Does the same check, and counts the bytes as written. `fileBytes` is the resulting size of the file. */
  async take (folder: OwnedFolder, bytes: number, fileBytes: number): Promise<void> {
    if (fileBytes > this.#max) throw tooLarge(this.#max)
    await this.require(folder.ownerTag, bytes)
    this.#written.add(folder, bytes)
  }

  /** Removes a deleted folder from the count immediately. */
  forget (id: string): void {
    this.#scanned.drop(id)
    this.#written.drop(id)
    this.#deleted.add(id)
  }

  #getUsage (ownerTag: string): number {
    return this.#scanned.getBytes(ownerTag) + this.#written.getBytes(ownerTag)
  }

  /** Scans the disk unless the last scan is recent enough; concurrent calls share one scan. */
  async #refresh (maxMs: number): Promise<void> {
    const { endedAt, tookMs } = this.#last
    if (performance.now() < endedAt + Math.max(maxMs, tookMs * maxRecentTimes)) return
    this.#pendingScan ??= this.#scan().finally(() => { this.#pendingScan = undefined })
    await this.#pendingScan
  }

  async #scan (): Promise<void> {
    const begunAt = performance.now()
    // The scan may include bytes written meanwhile: they count twice until the next scan, rather than not at all.
    const before = this.#written
    this.#written = new Tally()
    this.#deleted = new Set()
    try {
      this.#scanned = await scanUsage(this.#directory)
    } catch (error) {
      this.#written.addAll(before)
      throw error
    }
    for (const id of this.#deleted) this.#scanned.drop(id)
    const endedAt = performance.now()
    this.#last = { endedAt, tookMs: endedAt - begunAt }
  }
}

async function scanUsage (directory: string): Promise<Tally> {
  const held = new Tally()
  // Sequentially, so that other file operations are not delayed.
  for (const id of (await readdir(directory)).filter(isJobId)) {
    const names = await listNames(join(directory, id))
    const ownerTag = names.find(name => name.startsWith('.of-'))
    if (ownerTag === undefined) continue
    const sizes = await Promise.all(names.map(name => readDiskSize(join(directory, id, name))))
    held.add({ id, ownerTag }, sizes.reduce((sum, size) => sum + size, 0))
  }
  return held
}

/** The names of files in a folder; none if it was deleted meanwhile. */
async function listNames (folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(fallbackIfMissing([]))
}

async function readDiskSize (path: string): Promise<number> {
  return await stat(path).then(({ size }) => Math.max(size, blockBytes)).catch(fallbackIfMissing(0))
}

const fallbackIfMissing = <T>(nothing: T) => (error: NodeJS.ErrnoException): T => {
  if (error.code === 'ENOENT') return nothing
  throw error
}
