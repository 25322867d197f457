import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.js'
import { readText } from './secret.js'

/** The 32 bytes in a file of base64 text; undefined when the file has no such content. */
export function readSecretBytes (file: string): Buffer | undefined {
  const text = readText(file) ?? ''
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 32 && bytes.toString('base64') === text ? bytes : undefined
}

/**
 * The secret that seals the cursors: of the configured file, or else of one that is made in the data directory at the first start
 * and that only the gateway's own user may read.
 */
export function cursorSecret ({ cursor, dataDirectory }: Config): Buffer {
  const file = cursor.secretFile ?? generated(dataDirectory)
  const secret = readSecretBytes(file)
  if (!secret) throw new Error(`${cursor.secretFile ? 'cursor.secretFile' : 'the file cursor.secret in the data directory'} does not hold 32 bytes in base64`)
  return secret
}

function generated (dataDirectory: string): string {
  const file = join(dataDirectory, 'cursor.secret')
  mkdirSync(dataDirectory, { recursive: true })
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return file
}
