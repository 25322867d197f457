import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { FileFailure, type FileResponse } from './messages.js'

interface PendingCall { readonly resolve: (value: never) => void, readonly reject: (error: FileFailure) => void }

/** The file of a thread. */
interface WriterOptions {
  readonly path: string
  /** The module that serves the file, as the build has it. */
  readonly thread: URL
  /** The name of the thread, for people to read. */
  readonly name: string
  /** The wall clock. */
  readonly now: () => Date
}

/**
 * A module of the build by its path in `dist`, also in tests: loading TypeScript would take a second in each thread.
 */
export function resolveCompiledModule (path: string): URL {
  return new URL(import.meta.url.endsWith('.ts') ? `../../../dist/${path}` : `../../${path}`, import.meta.url)
}

/**
 * Writes a file in a separate thread, so that no request waits while the disk syncs. Calls run in order. If the thread
 * has ended, the next call starts a new one.
 */
export class FileWriter {
  readonly #options: WriterOptions
  readonly #waiting: PendingCall[] = []
  #thread: Worker | undefined

  constructor (options: WriterOptions) {
    this.#options = options
  }

  /** Calls a method of the file; `open` only checks that it is usable. @throws {FileFailure} */
  call<T = void> (name: string, ...args: readonly unknown[]): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#waiting.push({ resolve, reject })
      this.#thread.postMessage({ name, args, now: this.#options.now() })
    })
  }

  /** Closes the file after earlier calls have finished, and ends the thread. */
  async close (): Promise<void> {
    if (this.#thread === undefined) return
    const ended = once(this.#thread, 'exit')
    this.#thread.postMessage('close')
    await ended
  }

  #start (): Worker {
    const { thread, path, name } = this.#options
    const started = new Worker(thread, { workerData: path, execArgv: [], name })
    started.on('message', (response: FileResponse) => {
      const { resolve, reject } = this.#waiting.shift()!
      if ('failure' in response) reject(new FileFailure(response.failure))
      else resolve(response.value as never)
    })
    let reason = `the thread ${name} has exited`
    started.on('error', error => { reason = error.message })
    started.once('exit', () => {
      this.#thread = undefined
      for (const { reject } of this.#waiting.splice(0)) reject(new FileFailure({ message: reason }))
    })
    return started
  }
}

/**
 * The names of corrupt files that were set aside in place of a file, until the operator moves them elsewhere; empty if
 * there is none.
 */
export function listBrokenFiles (file: string): readonly string[] {
  try {
    return readdirSync(dirname(file)).filter(
      name => name.startsWith(`${basename(file)}.broken-`) && !/-(wal|shm)$/.test(name)
    )
  } catch {
    return []
  }
}
