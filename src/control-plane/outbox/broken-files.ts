import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/** The names of corrupt files that were set aside in place of a file, until someone moves them elsewhere. */
export function brokenFiles (file: string): readonly string[] {
  try {
    return readdirSync(dirname(file)).filter(
      name => name.startsWith(`${basename(file)}.broken-`) && !/-(wal|shm)$/.test(name)
    )
  } catch {
    return []
  }
}
