import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Everything that is in the data directory of a process, at any depth, by its name there. */
export function listDataFiles (directory: string): ReadonlyArray<{ readonly name: string, readonly bytes: Buffer }> {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .flatMap(path => read(path).map(bytes => ({ name: relative(directory, path), bytes })))
}

/** None of a file that a running process deleted since it was found. */
function read (path: string): readonly Buffer[] {
  try {
    return [readFileSync(path)]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
