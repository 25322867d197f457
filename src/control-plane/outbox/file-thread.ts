import { renameSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { SchemaVersionError } from '../../files/open-sqlite.js'
import type { FileRequest, FileResponse } from './messages.js'

/** A file that a thread writes. */
interface ClosableFile { close (): void }

type Methods<File> = ReadonlyArray<Exclude<keyof File, 'close'>>

/**
 * Runs a FileWriter's requests in its thread, on the file with the path that it was started with.
 * @param methods what can be requested
 */
export function serveFile<File extends ClosableFile> (
  open: (path: string) => File,
  methods: Methods<File>
): void {
  const host = new FileHost(workerData as string, open, methods)
  const port = parentPort!
  port.on('message', (request: FileRequest | 'close') => {
    if (request !== 'close') return port.postMessage(host.respond(request))
    host.close()
    port.close()
  })
}

/**
 * Runs requests on a file, which stays open in between. After a failure it reopens the file for the next request, since
 * only then is it certain which part of a failed write is in it. A corrupt file is set aside, and a new one is created.
 */
class FileHost<File extends ClosableFile> {
  readonly #path: string
  readonly #open: (path: string) => File
  readonly #methods: Methods<File>
  #file: File | undefined

  constructor (path: string, open: (path: string) => File, methods: Methods<File>) {
    this.#path = path
    this.#open = open
    this.#methods = methods
  }

  respond ({ name, args, now }: FileRequest): FileResponse {
    try {
      this.#file ??= this.#open(this.#path)
      return { value: name === 'open' ? undefined : this.#call(this.#file, name, args) }
    } catch (error) {
      this.close()
      const { message, code } = error as NodeJS.ErrnoException
      return { failure: { message, code, aside: isBroken(error) ? this.#setAside(now) : undefined } }
    }
  }

  close (): void {
    this.#file?.close()
    this.#file = undefined
  }

  #call (file: File, name: string, args: readonly unknown[]): unknown {
    const method = this.#methods.find(method => method === name)
    if (method === undefined) throw new Error('the file has no such method')
    return (file[method] as (...args: readonly unknown[]) => unknown).apply(file, [...args])
  }

  /**
   * Renames a corrupt file. It is never deleted, since it may hold the only copy of its content. If renaming fails, the
   * next request fails again.
   */
  #setAside (now: Date): string | undefined {
    const aside = `${this.#path}.broken-${now.toISOString().replaceAll(/\D/g, '')}`
    try {
      renameSync(this.#path, aside)
      for (const suffix of ['-wal', '-shm']) moveOrRemove(this.#path + suffix, aside + suffix)
      return basename(aside)
    } catch {
      return undefined
    }
  }
}

function isBroken (error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return error instanceof SchemaVersionError || /^SQLITE_(NOTADB|CORRUPT)/.test(code)
}

/** Files that belong to the old file by name must not be used as parts of the new one. */
function moveOrRemove (from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    rmSync(from, { force: true })
  }
}
