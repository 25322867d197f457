import { randomBytes } from 'node:crypto'
import { readFileSync, statfsSync } from 'node:fs'
import { mkdir, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { isJobId, type Job, type JobScope } from '../model/job.js'
import { base32, randomString } from '../../keys/random-text.js'
import { ensureDirectory } from '../../files/ensure-directory.js'
import { ensureFile } from '../../files/ensure-file.js'
import { bytesOf, type ReaderOptions } from './file-reader.js'
import { openWriter } from './file-writer.js'
import { DiskQuota, ownerHash } from './holdings.js'
import { SegmentList, plainBytesOf } from './segments.js'
import { toStorageError, diskFull } from './storage-errors.js'
import type { JobFiles } from '../job-context.js'

/**
 * Where the spool is, what it leaves of the disk to others, and the most that the files of one organization may take
 * up: unless given, half of the disk.
 */
interface SpoolOptions {
  readonly directory: string
  readonly reserveBytes: number
  readonly organizationBytes?: number
}

/** A job as its files are found by; without its owner, they are not held to what an organization may have. */
type SpooledJob = Pick<Job, 'id' | 'fileKey'> & { readonly owner?: JobScope }

/** What a new job's files are found and read by. */
type NewFiles = Pick<Job, 'id' | 'fileKey' | 'storeId'> & { readonly files: JobFiles }

const readBytes = 131_072
const fileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const listSuffix = '.pieces'

/** In bytes. Some file systems do not say how large they are. */
function halfOfDisk (directory: string): number {
  const { blocks, bsize } = statfsSync(directory)
  return blocks === 0 ? Infinity : Math.floor(blocks / 2) * bsize
}

/**
 * The directory for files of jobs, each job in a folder of its own, encrypted and sealed with its own key. Several
 * gateways may share one.
 */
export class Spool {
  /** The id of this directory: only who sees it can work on a job that names it. */
  readonly storeId: string
  readonly #options: SpoolOptions
  readonly #holdings: DiskQuota

  /** Opens the directory; makes it, and its id, where they are missing. */
  constructor (options: SpoolOptions) {
    this.#options = options
    ensureDirectory(options.directory)
    this.#holdings = new DiskQuota({
      directory: options.directory,
      max: options.organizationBytes ?? halfOfDisk(options.directory)
    })
    this.storeId = storeIdIn(options.directory)
  }

  /**
   * A place for the files of a job that is to be, of which so many bytes are announced.
   * @throws {Failure} RATE_LIMITED or PAYLOAD_TOO_LARGE when its owner has no room for them
   */
  async begin (owner?: JobScope, bytes = 0): Promise<NewFiles> {
    const made = { id: `job-${randomString(base32, 26)}`, fileKey: randomBytes(32).toString('base64') }
    if (owner !== undefined) await toStorageError(() => this.#holdings.require(ownerHash(owner), bytes))
    await toStorageError(() => mkdir(this.#folder(made.id), { mode: 0o700 }))
    if (owner !== undefined) {
      await toStorageError(() => writeFile(join(this.#folder(made.id), ownerHash(owner)), '', { mode: 0o600 }))
    }
    return { ...made, storeId: this.storeId, files: this.of({ ...made, ...owner !== undefined && { owner } }) }
  }

  /** The files of a job of this spool. `requireHeld` throws when whoever has them may no longer write. */
  of ({ id, fileKey, owner }: SpooledJob, requireHeld = () => {}): JobFiles {
    const folder = this.#folder(id)
    const key = Buffer.from(fileKey, 'base64')
    const mark = owner && ownerHash(owner)
    const take = async (bytes: number, fileBytes: number): Promise<void> => {
      if (mark !== undefined) await this.#holdings.take({ id, mark }, bytes, fileBytes)
    }
    const requireRoom = async (): Promise<void> => {
      await toStorageError(() => take(0, 0))
      await toStorageError(() => this.#requireRoom(folder))
    }
    const path = (name: string): string => join(folder, requireFileName(name))
    const parts = (name: string) => ({ path: path(name), listPath: path(name) + listSuffix, secret: { key, name } })
    return {
      write: async (name, from = 0, state) =>
        await openWriter({ ...parts(name), from, mark: state, requireRoom, take, requireHeld }),
      read: (name, range) =>
        Readable.from(bytesOf(parts(name), range), { objectMode: false, highWaterMark: readBytes }),
      size: async name => await sizeOf(parts(name)),
      path,
      requireRoom,
      remove: async name => {
        for (const suffix of ['', listSuffix]) await rm(path(name) + suffix, { force: true })
      }
    }
  }

  /** Deletes all files of a job, be there any or none. */
  async delete (id: string): Promise<void> {
    await rm(this.#folder(id), { recursive: true, force: true, maxRetries: 3 })
    this.#holdings.forget(id)
  }

  /** Deletes the files of a job but those whose names begin so. */
  async deleteBut (id: string, storedName: string): Promise<void> {
    for (const name of await this.#namesBut(id, storedName)) await rm(join(this.#folder(id), name), { force: true })
  }

  /** The jobs that have files here next to those whose names begin so. */
  async withMoreThan (storedName: string): Promise<readonly string[]> {
    const ids = await this.#ids()
    const names = await Promise.all(ids.map(id => this.#namesBut(id, storedName)))
    return ids.filter((_, i) => names[i]!.length > 0)
  }

  /** The jobs that have a folder here in which nothing came or went since a time. */
  async unchangedSince (time: Date): Promise<readonly string[]> {
    const ids = await this.#ids()
    const changes = await Promise.all(ids.map(id => lastChange(this.#folder(id))))
    return ids.filter((_, i) => changes[i]! < time.getTime())
  }

  async #ids (): Promise<readonly string[]> {
    return (await readdir(this.#options.directory)).filter(isJobId)
  }

  async #namesBut (id: string, storedName: string): Promise<readonly string[]> {
    const names = await readdir(this.#folder(id)).catch(() => [])
    return names.filter(name => !name.startsWith(storedName) && !name.startsWith('.'))
  }

  async #requireRoom (folder: string): Promise<void> {
    const { reserveBytes } = this.#options
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < reserveBytes) throw diskFull(new Error(`less than ${reserveBytes} bytes are free`))
  }

  #folder (id: string): string {
    if (!isJobId(id)) throw new Error('this is not a job id')
    return join(this.#options.directory, id)
  }
}

function storeIdIn (directory: string): string {
  const id = readFileSync(
    ensureFile(join(directory, 'store.id'), () => `store-${randomString(base32, 26)}`),
    'utf8'
  ).trim()
  if (/^store-[a-z2-7]{26}$/.test(id)) return id
  throw new Error('the file store.id in the directory for bulk jobs contains no id; delete it once no jobs are left')
}

function requireFileName (name: string): string {
  if (fileName.test(name) && !name.endsWith(listSuffix)) return name
  throw new Error('this is not a valid name for a job file')
}

async function sizeOf ({ path, listPath, secret }: ReaderOptions): Promise<number | undefined> {
  const file = await statIfThere(path)
  return file === undefined ? undefined : plainBytesOf((await SegmentList.read(listPath, secret)).segments, file.size)
}

async function statIfThere (path: string) {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Of the folder or one of its files. */
async function lastChange (folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const found = await Promise.all([folder, ...names.map(name => join(folder, name))].map(statIfThere))
  return Math.max(...found.map(file => file?.mtimeMs ?? 0))
}
