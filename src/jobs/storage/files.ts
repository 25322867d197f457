import { randomBytes } from 'node:crypto'
import { readFileSync, statfsSync } from 'node:fs'
import { mkdir, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { isJobId, type Job, type JobScope } from '../model/job.js'
import { base32, randomString } from '../../keys/random-text.js'
import { ensureDirectory, ensureFile } from '../../files/ensure.js'
import { readFileBytes, type ReaderOptions } from './file-reader.js'
import { openWriter } from './file-writer.js'
import { DiskQuota, hashOwner } from './holdings.js'
import { SegmentList, countPlainBytes } from './segments.js'
import { toStorageError, diskFull } from './storage-errors.js'
import type { JobFiles } from '../job-context.js'

/**
 * The directory of the spool, the disk space that it leaves free, and the maximum size of one organization's files: by
 * default, half of the disk.
 */
interface SpoolOptions {
  readonly directory: string
  readonly reserveBytes: number
  readonly organizationBytes?: number
}

/** The properties that locate a job's files; without an owner, its files have no size limit. */
type SpooledJob = Pick<Job, 'id' | 'fileKey'> & { readonly owner?: JobScope }

/** The files of a new job, and the properties that locate and decrypt them. */
type NewFiles = Pick<Job, 'id' | 'fileKey' | 'storeId'> & { readonly files: JobFiles }

const readBytes = 131_072
const fileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const listSuffix = '.pieces'

/** In bytes; Infinity for file systems that do not report their size. */
function getHalfOfDiskBytes (directory: string): number {
  const { blocks, bsize } = statfsSync(directory)
  return blocks === 0 ? Infinity : Math.floor(blocks / 2) * bsize
}

/**
 * The directory for files of jobs. Each job has its own folder and its own key, with which its files are encrypted and
 * authenticated. Several gateways may share a directory.
 */
export class Spool {
  /** The id of this directory: only gateways that can reach it can run the jobs that name it. */
  readonly storeId: string
  readonly #options: SpoolOptions
  readonly #diskQuota: DiskQuota

  /** Opens the directory; creates it and its id if they are missing. */
  constructor (options: SpoolOptions) {
    this.#options = options
    ensureDirectory(options.directory)
    this.#diskQuota = new DiskQuota({
      directory: options.directory,
      max: options.organizationBytes ?? getHalfOfDiskBytes(options.directory)
    })
    this.storeId = ensureStoreId(options.directory)
  }

  /**
   * Creates the folder for a new job's files, with the announced size in bytes.
   * @throws {Failure} RATE_LIMITED or PAYLOAD_TOO_LARGE when that exceeds the owner's limit
   */
  async begin (owner?: JobScope, bytes = 0): Promise<NewFiles> {
    const made = { id: `job-${randomString(base32, 26)}`, fileKey: randomBytes(32).toString('base64') }
    if (owner !== undefined) await toStorageError(() => this.#diskQuota.require(hashOwner(owner), bytes))
    await toStorageError(() => mkdir(this.#resolveFolder(made.id), { mode: 0o700 }))
    if (owner !== undefined) {
      await toStorageError(() => writeFile(join(this.#resolveFolder(made.id), hashOwner(owner)), '', { mode: 0o600 }))
    }
    return { ...made, storeId: this.storeId, files: this.getJobFiles({ ...made, ...owner !== undefined && { owner } }) }
  }

  /** The files of a job in this spool. `requireHeld` throws when the caller may no longer write. */
  getJobFiles ({ id, fileKey, owner }: SpooledJob, requireHeld = () => {}): JobFiles {
    const folder = this.#resolveFolder(id)
    const key = Buffer.from(fileKey, 'base64')
    const ownerTag = owner && hashOwner(owner)
    const take = async (bytes: number, fileBytes: number): Promise<void> => {
      if (ownerTag !== undefined) await this.#diskQuota.take({ id, ownerTag }, bytes, fileBytes)
    }
    const requireRoom = async (): Promise<void> => {
      await toStorageError(() => take(0, 0))
      await toStorageError(() => this.#requireRoom(folder))
    }
    const toPath = (name: string): string => join(folder, requireFileName(name))
    const toReaderOptions = (name: string) => ({
      path: toPath(name),
      listPath: toPath(name) + listSuffix,
      secret: { key, name }
    })
    return {
      write: async (name, from = 0, state) =>
        await openWriter({ ...toReaderOptions(name), from, mark: state, requireRoom, take, requireHeld }),
      read: (name, range) =>
        Readable.from(readFileBytes(toReaderOptions(name), range), { objectMode: false, highWaterMark: readBytes }),
      size: async name => await readSize(toReaderOptions(name)),
      path: toPath,
      requireRoom,
      remove: async name => {
        for (const suffix of ['', listSuffix]) await rm(toPath(name) + suffix, { force: true })
      }
    }
  }

  /** Deletes all files of a job, if there are any. */
  async delete (id: string): Promise<void> {
    await rm(this.#resolveFolder(id), { recursive: true, force: true, maxRetries: 3 })
    this.#diskQuota.forget(id)
  }

  /** Deletes the files of a job, except those whose names have a prefix. */
  async deleteExcept (id: string, storedName: string): Promise<void> {
    for (const name of await this.#listNamesExcept(id, storedName)) {
      await rm(join(this.#resolveFolder(id), name), { force: true })
    }
  }

  /** The jobs that have files here other than those whose names have a prefix. */
  async listWithOtherFiles (storedName: string): Promise<readonly string[]> {
    const ids = await this.#listJobIds()
    const names = await Promise.all(ids.map(id => this.#listNamesExcept(id, storedName)))
    return ids.filter((_, i) => names[i]!.length > 0)
  }

  /** The jobs whose folder has not changed since a time. */
  async listUnchangedSince (time: Date): Promise<readonly string[]> {
    const ids = await this.#listJobIds()
    const changes = await Promise.all(ids.map(id => readLastModified(this.#resolveFolder(id))))
    return ids.filter((_, i) => changes[i]! < time.getTime())
  }

  async #listJobIds (): Promise<readonly string[]> {
    return (await readdir(this.#options.directory)).filter(isJobId)
  }

  async #listNamesExcept (id: string, storedName: string): Promise<readonly string[]> {
    const names = await readdir(this.#resolveFolder(id)).catch(() => [])
    return names.filter(name => !name.startsWith(storedName) && !name.startsWith('.'))
  }

  async #requireRoom (folder: string): Promise<void> {
    const { reserveBytes } = this.#options
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < reserveBytes) throw diskFull(new Error(`less than ${reserveBytes} bytes are free`))
  }

  #resolveFolder (id: string): string {
    if (!isJobId(id)) throw new Error('this is not a job id')
    return join(this.#options.directory, id)
  }
}

function ensureStoreId (directory: string): string {
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

async function readSize ({ path, listPath, secret }: ReaderOptions): Promise<number | undefined> {
  const file = await statIfExists(path)
  return file === undefined
    ? undefined
    : countPlainBytes((await SegmentList.read(listPath, secret)).segments, file.size)
}

async function statIfExists (path: string) {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The last modification of the folder or one of its files, in milliseconds; 0 if there is no folder. */
async function readLastModified (folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const found = await Promise.all([folder, ...names.map(name => join(folder, name))].map(statIfExists))
  return Math.max(...found.map(file => file?.mtimeMs ?? 0))
}
