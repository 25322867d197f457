import { createHmac, timingSafeEqual } from 'node:crypto'
import { base62, randomText } from '../keys/random-text.js'

/**
 * What a browser keeps to show which members signed in with it: a random text and, over it, a code for each member, whose key is
 * what is stored of the password. It opens nothing, every control process can check it, and it ends when the password changes.
 */
export function newDevice (passwordHashes: readonly string[]): string {
  const name = randomText(base62, 22)
  return [name, ...passwordHashes.map(hash => codeOf(name, hash))].join('.')
}

/** Whether a browser's text was made for this password. */
export function isDevice (text: string, passwordHash: string): boolean {
  const [, ...codes] = text.split('.')
  const wanted = Buffer.from(codeOf(deviceName(text), passwordHash))
  return codes.map(code => Buffer.from(code)).some(found => found.length === wanted.length && timingSafeEqual(found, wanted))
}

/** The part that all the codes are over, and that nobody can therefore vary. */
export function deviceName (text: string): string {
  return text.split('.', 1)[0]!
}

function codeOf (name: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`device ${name}`).digest('base64url')
}
