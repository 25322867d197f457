import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

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
    // Of those who make it at the same time, one does.
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
