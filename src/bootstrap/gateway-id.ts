import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base32, randomString } from '../keys/random-text.js'

const form = /^gateway-[a-z2-7]{26}$/

/**
 * The id of the gateway whose data directory this is: made at the first start, and never the same for two directories.
 */
export function gatewayId (dataDirectory: string): string {
  const file = join(dataDirectory, 'gateway.id')
  const storedId = readIfThere(file)
  if (form.test(storedId)) return storedId
  const made = `gateway-${randomString(base32, 26)}`
  writeFileSync(file, `${made}\n`, { mode: 0o600 })
  return made
}

function readIfThere (file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
