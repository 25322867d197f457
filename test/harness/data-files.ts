import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Everything that a process left in its data directory, at any depth, by its name there. */
export function dataFiles (directory: string): ReadonlyArray<{ readonly name: string, readonly bytes: Buffer }> {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => ({ name: relative(directory, path), bytes: readFileSync(path) }))
}
