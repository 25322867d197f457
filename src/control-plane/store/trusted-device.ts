import { createHmac, timingSafeEqual } from 'node:crypto'
import { base62, randomString } from '../../keys/random-text.js'

/**
 * A token that a browser stores to prove which members signed in with it: a random name and, for each member, an HMAC
 * of the name keyed with the stored password hash. It grants no access, any control process can check it, and changing
 * the password invalidates it.
 */
export function newDevice (passwordHashes: readonly string[]): string {
  const name = randomString(base62, 22)
  return [name, ...passwordHashes.map(hash => codeOf(name, hash))].join('.')
}

/** Whether a browser's token was made for this password. */
export function isDevice (text: string, passwordHash: string): boolean {
  const [, ...codes] = text.split('.')
  const expected = Buffer.from(codeOf(deviceName(text), passwordHash))
  return codes
    .map(code => Buffer.from(code))
    .some(found => found.length === expected.length && timingSafeEqual(found, expected))
}

/** The random name in a token. All its codes authenticate the name, so it can't be changed. */
export function deviceName (text: string): string {
  return text.split('.', 1)[0]!
}

function codeOf (name: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`device ${name}`).digest('base64url')
}
