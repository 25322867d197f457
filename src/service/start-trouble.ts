import { basename } from 'node:path'
import { ConfigError } from '../config/load.js'
import { DatabaseUnavailable } from '../control/database-unavailable.js'

/**
 * Opens a file of the data directory.
 * @throws {Error} that names the file when it is damaged, since the driver does not
 */
export async function openedFile<T> (file: string, open: (file: string) => T | Promise<T>): Promise<T> {
  try {
    return await open(file)
  } catch (error) {
    if (!/^SQLITE_(?:NOTADB|CORRUPT)/.test(codeOf(error))) throw error
    throw new Error(`${basename(file)} in the data directory is damaged or no database; check CLINIGATE_DATA, and see "Back up" in docs/operate.md before you move it away`, { cause: error })
  }
}

const fullDisk = 'the disk of the data directory is full; make room there'

/** What is told of a failure by its code; of SQLite's codes the first two words count. */
const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another process; choose another one with PORT',
  EADDRNOTAVAIL: 'this machine does not have that address; choose another one with HOST',
  SQLITE_BUSY: 'another process has been writing to a database in the data directory for too long; try again',
  SQLITE_READONLY: 'a database in the data directory can\'t be written; check the rights on the directory and its files, CLINIGATE_DATA',
  SQLITE_CANTOPEN: 'a database in the data directory can\'t be opened; check the rights on the directory and its files, CLINIGATE_DATA',
  SQLITE_FULL: fullDisk,
  SQLITE_IOERR: 'the disk of the data directory is full or fails; make room there, or look at what the system says of the disk',
  ENOSPC: fullDisk,
  EDQUOT: fullDisk,
  EMFILE: 'this process may not open more files; raise its limit (ulimit -n, LimitNOFILE)'
}

/** What a person who starts the process or a command is told of what stands in the way. */
export function explainTrouble (error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof DatabaseUnavailable) return error.remedy
  const { message, path, syscall } = error as NodeJS.ErrnoException
  const code = codeOf(error)
  if (code === 'EACCES' && syscall === 'listen') return 'this user may not listen there; check HOST and PORT'
  if (code === 'EEXIST' || code === 'ENOTDIR') return `${path} is needed as a directory, but is a file or below one; check CLINIGATE_DATA`
  if (code === 'EACCES' || code === 'EROFS') return `${path} can't be made, read or written by this user; check its rights, or the setting that names it, such as CLINIGATE_DATA`
  return remedies[/^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code] ?? message
}

const codeOf = (error: unknown): string => (error as { readonly code?: string }).code ?? ''
