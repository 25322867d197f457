import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { ensureDirectory } from '../../../files/ensure.js'
import { ensurePrivateDatabase } from '../../../files/open-sqlite.js'
import { ControlError } from '../control-error.js'

/**
 * Copies a SQLite control database that other processes may have open, into a file that only its owner can read.
 * @returns the path of the copy, which is there only when it is complete
 */
export async function backUpSqlite (file: string, directory: string, now: Date): Promise<string> {
  if (!existsSync(file)) throw new ControlError('missing', 'There is no control database in the data directory.')
  ensureDirectory(directory)
  const copy = join(directory, `control-${now.toISOString().replaceAll(':', '-')}.db`)
  const unfinished = `${copy}.unfinished`
  const sqlite = new SQLite(file, { readonly: true, fileMustExist: true })
  try {
    await sqlite.backup(ensurePrivateDatabase(unfinished))
    renameSync(unfinished, copy)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  } finally {
    sqlite.close()
  }
  return copy
}
