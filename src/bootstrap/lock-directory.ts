import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Config } from '../config/schema.js'
import { ensureDirectory } from '../files/ensure.js'
import { ensurePrivateDatabase, withFileName } from '../files/open-sqlite.js'

/** The lock of each role: the control plane's files are others than those of what serves requests or runs jobs. */
const lockFiles: Readonly<Record<Config['role'], readonly string[]>> = {
  all: ['control.lock', 'gateway.lock'],
  control: ['control.lock'],
  gateway: ['gateway.lock'],
  worker: ['gateway.lock']
}

/**
 * Lets no other process start in the same data directory, where both would count and send the same usage and events.
 * SQLite locks a file for as long as the process lives, so that a killed one leaves no lock behind.
 * @returns what releases the directory
 * @throws {Error} that says what to do, when another process has been using the directory for `timeoutMs`
 */
export function lockDirectory (
  { dataDirectory, role }: Pick<Config, 'dataDirectory' | 'role'>, { timeoutMs = 5_000 } = {}
): () => void {
  ensureDirectory(dataDirectory)
  const locks: Database.Database[] = []
  const release = (): void => locks.forEach(lock => lock.close())
  try {
    for (const name of lockFiles[role]) lock(join(dataDirectory, name))
    return release
  } catch (error) {
    release()
    if ((error as { readonly code?: string }).code !== 'SQLITE_BUSY') throw error
    throw new Error(
      'another process of clinigate uses the data directory; end it first, or give each one a directory of its own in CLINIGATE_DATA',
      { cause: error }
    )
  }

  function lock (file: string): void {
    try {
      const database = new Database(ensurePrivateDatabase(file), { timeout: timeoutMs })
      locks.push(database)
      database.pragma('journal_mode = MEMORY')
      database.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      throw withFileName(file, error)
    }
  }
}
