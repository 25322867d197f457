import { mkdirSync, statSync, existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { randomUUID } from 'node:crypto'

/**
 * Makes a directory and those above it where they are missing, for this user alone. Node's own way never comes back
 * where a file system has the directory above but takes none below, as /proc does.
 */
export function ensureDirectory (path: string): void {
  try {
    makeOne(path)
  } catch (error) {
    const above = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error
    ensureDirectory(above)
    makeOne(path)
  }
}

function makeOne (path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Of several processes that create it at the same time, one succeeds.
    if (!isDirectory(path)) throw error
  }
}

function isDirectory (path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/**
 * Makes a file with a line of text where there is none, for this user alone: whole or not at all, whenever the process
 * ends or the disk is full. Of those who make it at the same time, one does.
 * @returns its path
 */
export function ensureFile (file: string, text: () => string): string {
  if (existsSync(file)) return file
  const mine = `${file}.${randomUUID()}`
  try {
    writeFileSync(mine, `${text()}\n`, { mode: 0o600 })
    linkSync(mine, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(mine, { force: true })
  }
  return file
}
