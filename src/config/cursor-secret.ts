import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './schema.js'
import { ensureDirectory } from '../files/ensure-directory.js'
import { ensureFile } from '../files/ensure-file.js'
import { readText } from './secret-file.js'

/** The 32 bytes in a file of base64 text; undefined when the file has no such content. */
export function readSecretBytes (file: string): Buffer | undefined {
  return bytesIn(readText(file) ?? '')
}

function bytesIn (text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 32 && bytes.toString('base64') === text ? bytes : undefined
}

/**
 * The secret that seals the cursors: of the configured file, or else of one that is made in the data directory at the
 * first start and that only the gateway's own user may read.
 */
export function cursorSecret ({ cursor, dataDirectory }: Config): Buffer {
  const file = cursor.secretFile ?? generated(dataDirectory)
  const secret = bytesIn(readFileSync(file, 'utf8').trim())
  if (!secret) {
    throw new Error(
      `${cursor.secretFile ? 'cursor.secretFile' : 'the file cursor.secret in the data directory'} does not contain 32 bytes in base64${cursor.secretFile ? '' : '; restore it, or delete it, which invalidates all page links'}`
    )
  }
  return secret
}

function generated (dataDirectory: string): string {
  ensureDirectory(dataDirectory)
  return ensureFile(join(dataDirectory, 'cursor.secret'), () => randomBytes(32).toString('base64'))
}
