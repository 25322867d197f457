import { basename } from 'node:path'
import { ConfigError } from '../config/load.js'
import { DatabaseUnavailable } from '../control-plane/store/control-error.js'
import { DatabaseFileError, SchemaVersionError, withFileName } from '../files/open-sqlite.js'

/** Opens a file of the data directory. @throws {DatabaseFileError} for what SQLite throws */
export async function openDataFile<T> (file: string, open: (file: string) => T | Promise<T>): Promise<T> {
  try {
    return await open(file)
  } catch (error) {
    throw withFileName(file, error)
  }
}

const unknownHost = 'the host name to listen on is unknown; set HOST to an address of this machine, such as 0.0.0.0 for all'

/** The remedies of failures to listen, by their code. */
const listenRemedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses the port; choose another port with PORT',
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  EADDRNOTAVAIL: 'this machine does not have that address; choose another address with HOST',
  EACCES: 'this user is not allowed to listen there; check HOST and PORT'
}

/** A failure to listen on HOST and PORT, which are to be corrected. */
class ListenError extends Error {}

/**
 * The result of listening on the configured host and port.
 * @throws {ListenError} that names the setting, for errors that have a remedy here; other errors are thrown unchanged
 */
export async function withListenRemedy<T> (listening: Promise<T>): Promise<T> {
  return await listening.catch((error: unknown) => {
    const remedy = listenRemedies[getErrorCode(error)]
    throw remedy === undefined ? error : new ListenError(remedy, { cause: error })
  })
}

const fullDisk = 'the disk of the data directory is full; make room there'

/** The remedies of failures by their code; of SQLite's codes the first two words count. */
const remedies: Readonly<Record<string, string>> = {
  SQLITE_BUSY: 'another process has been writing to a database in the data directory for too long; try again',
  SQLITE_FULL: fullDisk,
  SQLITE_IOERR: 'the disk of the data directory is full or failing; make room there, or check the system log',
  ENOSPC: fullDisk,
  EDQUOT: fullDisk,
  EFBIG: 'the disk of the data directory is full, or files may not grow (ulimit -f); make room there',
  EMFILE: 'this process has too many open files; raise its limit (ulimit -n, LimitNOFILE)'
}

const checkPermissions = 'check its permissions and those of the directory (CLINIGATE_DATA)'
const seeBackUp = 'see "Back up" in docs/operate.md before you move it away'
const damaged = `is damaged or not a database; check CLINIGATE_DATA, and ${seeBackUp}`

/** The remedies of failures of one database file, by their code. They follow its name. */
const fileRemedies: Readonly<Record<string, string>> = {
  SQLITE_READONLY: `cannot be written; ${checkPermissions}`,
  SQLITE_CANTOPEN: `cannot be opened; ${checkPermissions}`,
  SQLITE_PERM: `cannot be opened; ${checkPermissions}`,
  SQLITE_NOTADB: damaged,
  SQLITE_CORRUPT: damaged
}

const newerVersion =
  `was created or upgraded by a newer version of clinigate; start that version, or ${seeBackUp}`

function explainFileError (error: DatabaseFileError): string | undefined {
  const remedy = error instanceof SchemaVersionError ? newerVersion : fileRemedies[getShortCode(error)]
  return remedy && `${basename(error.file)} in the data directory ${remedy}`
}

/** The explanation of a startup error for the person who starts the process or a command. */
export function explainStartupError (error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof DatabaseUnavailable) return error.remedy
  if (error instanceof ListenError) return error.message
  const explained = error instanceof DatabaseFileError ? explainFileError(error) : undefined
  if (explained !== undefined) return explained
  const { message, path, syscall } = error as NodeJS.ErrnoException
  const code = getErrorCode(error)
  if (code === 'EEXIST' || code === 'ENOTDIR') {
    return `${path} must be a directory, but is a file, a link to nothing or below one; check the setting that names it, such as CLINIGATE_DATA`
  }
  if (code === 'EACCES' || code === 'EROFS') {
    return `this user cannot create, read or write ${path}; check its permissions, or the setting that names it, such as CLINIGATE_DATA`
  }
  if (syscall === 'mkdir' && !Object.hasOwn(remedies, code)) {
    return `${path} cannot be made a directory (${code}); choose one on a disk that this user can write, in the setting that names it, such as CLINIGATE_DATA`
  }
  return remedies[getShortCode(error)] ?? message
}

/** The code, of SQLite's only the first two words. */
const getShortCode = (error: unknown): string => {
  const code = getErrorCode(error)
  return /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code
}

const getErrorCode = (error: unknown): string => (error as { readonly code?: string }).code ?? ''
