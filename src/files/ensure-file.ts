import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'

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
