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
  return secretOf(dataDirectory, {
    setting: 'cursor.secretFile',
    configured: cursor.secretFile,
    name: 'cursor.secret',
    loss: 'invalidates all page links'
  })
}

/** The key that encrypts the secrets of webhooks, configured or made in the same way. */
export function webhookKey ({ webhooks, dataDirectory }: Config): Buffer {
  return secretOf(dataDirectory, {
    setting: 'webhooks.secretFile',
    configured: webhooks.secretFile,
    name: 'webhooks.secret',
    loss: 'stops all webhooks until their secrets are rolled'
  })
}

/** A setting with the file of a secret, the name of the generated file, and the effect of losing it. */
interface SecretSource {
  readonly setting: string
  readonly configured: string | undefined
  readonly name: string
  readonly loss: string
}

function secretOf (dataDirectory: string, { setting, configured, name, loss }: SecretSource): Buffer {
  const file = configured ?? generated(dataDirectory, name)
  const secret = bytesIn(readFileSync(file, 'utf8').trim())
  if (!secret) {
    throw new Error(
      `${configured !== undefined ? setting : `the file ${name} in the data directory`} does not contain 32 bytes in base64${configured !== undefined ? '' : `; restore it, or delete it, which ${loss}`}`
    )
  }
  return secret
}

function generated (dataDirectory: string, name: string): string {
  ensureDirectory(dataDirectory)
  return ensureFile(join(dataDirectory, name), () => randomBytes(32).toString('base64'))
}
