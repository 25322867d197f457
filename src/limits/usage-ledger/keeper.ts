import { renameSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import Database from 'better-sqlite3'
import { SchemaVersionError } from '../../files/open-sqlite.js'
import { LedgerFile } from './file.js'
import type { LedgerResponse, LedgerRequest } from './messages.js'

/**
 * Runs requests on a ledger's file, which stays open in between. After a failure it reopens the file for the next
 * request, since only then is it certain which part of a failed write is in it. A corrupt file is set aside, and a new
 * one is created.
 */
export class LedgerClient {
  readonly #path: string
  #file: LedgerFile | undefined

  constructor (path: string) {
    this.#path = path
  }

  response (request: LedgerRequest): LedgerResponse {
    try {
      this.#file ??= new LedgerFile(this.#path)
      return { value: done(this.#file, request) }
    } catch (error) {
      this.close()
      const { message, code } = error as NodeJS.ErrnoException
      return { failure: { message, code, aside: isBroken(error) ? this.#setAside(request.now) : undefined } }
    }
  }

  close (): void {
    this.#file?.close()
    this.#file = undefined
  }

  /**
   * Renames a corrupt file. It is never deleted, since it may hold the only copy of the usage. If renaming fails, the
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

function done (file: LedgerFile, { name, args }: LedgerRequest): unknown {
  switch (name) {
    case 'open': return undefined
    case 'add': return file.add(...args)
    case 'nextBatch': return file.nextBatch(...args)
    case 'applyAck': return file.applyAck(...args)
  }
}

function isBroken (error: unknown): boolean {
  return (
    error instanceof SchemaVersionError ||
    (error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code))
  )
}

/** Files that belong to the old file by name must not be used as parts of the new one. */
function moveOrRemove (from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    rmSync(from, { force: true })
  }
}
