import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isJobId, type JobScope } from '../../jobs/job.js'
import { tooLarge, tooMuchHeld } from './spool-trouble.js'

/** The name of the empty file by which a job's folder tells whose it is. No file of a job begins with a dot. */
export function ownerMark ({ tenantId, mode }: JobScope): string {
  return `.of-${createHash('sha256').update(`${tenantId} ${mode}`).digest('hex').slice(0, 32)}`
}

/** What the smallest file takes of a disk. */
const blockBytes = 4_096

/** For how long a look is good enough while there is room. */
const keptMs = 1_000
/** In any case for so many times what it took: many folders cost no more than few. */
const keptTimes = 20

/**
 * What the files of each organization take up in a spool, live and test apart, whatever became of their jobs. The disk itself is
 * asked, so that all count that is on it: uploads that have no job yet, databases, and what other gateways write to the same directory.
 */
export class Holdings {
  readonly #directory: string
  readonly #most: number
  #found: ReadonlyMap<string, number> = new Map()
  /** Since that was begun. */
  #written = new Map<string, number>()
  #last = { endedAt: -Infinity, tookMs: 0 }
  #looking: Promise<void> | undefined

  constructor ({ directory, most }: { readonly directory: string, readonly most: number }) {
    this.#directory = directory
    this.#most = most
  }

  /**
   * Looks whether an owner's files may be so much larger.
   * @throws {Failure} PAYLOAD_TOO_LARGE when that would be too much by itself, RATE_LIMITED when it is with what is there
   */
  async require (mark: string, bytes: number): Promise<void> {
    if (bytes > this.#most) throw tooLarge(this.#most)
    await this.#look(keptMs)
    // Something may be gone by now.
    if (this.#heldBy(mark) + bytes > this.#most) await this.#look(0)
    if (this.#heldBy(mark) + bytes > this.#most) throw tooMuchHeld(this.#most)
  }

  /** The same, and counts it as written. `fileBytes` is how large the file becomes by it. */
  async take (mark: string, bytes: number, fileBytes: number): Promise<void> {
    if (fileBytes > this.#most) throw tooLarge(this.#most)
    await this.require(mark, bytes)
    this.#written.set(mark, (this.#written.get(mark) ?? 0) + bytes)
  }

  #heldBy (mark: string): number {
    return (this.#found.get(mark) ?? 0) + (this.#written.get(mark) ?? 0)
  }

  /** Has a look that is no older than it may be; those who ask meanwhile wait for the same. */
  async #look (longestMs: number): Promise<void> {
    const { endedAt, tookMs } = this.#last
    if (performance.now() < endedAt + Math.max(longestMs, tookMs * keptTimes)) return
    this.#looking ??= this.#lookNow().finally(() => { this.#looking = undefined })
    await this.#looking
  }

  async #lookNow (): Promise<void> {
    const begunAt = performance.now()
    // What is written meanwhile may be found too: it counts twice until the next look rather than not at all.
    const written = new Map<string, number>()
    const before = this.#written
    this.#written = written
    try {
      this.#found = await heldIn(this.#directory)
    } catch (error) {
      for (const [mark, bytes] of before) written.set(mark, (written.get(mark) ?? 0) + bytes)
      throw error
    }
    const endedAt = performance.now()
    this.#last = { endedAt, tookMs: endedAt - begunAt }
  }
}

async function heldIn (directory: string): Promise<ReadonlyMap<string, number>> {
  const held = new Map<string, number>()
  // One after the other: nobody else's files wait for this.
  for (const id of (await readdir(directory)).filter(isJobId)) {
    const names = await namesIn(join(directory, id))
    const mark = names.find(name => name.startsWith('.of-'))
    if (mark === undefined) continue
    const sizes = await Promise.all(names.map(name => sizeOf(join(directory, id, name))))
    held.set(mark, sizes.reduce((sum, size) => sum + size, held.get(mark) ?? 0))
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
