import { createHmac, timingSafeEqual } from 'node:crypto'
import { base62, randomText } from '../keys/random-text.js'

/**
 * What a browser keeps to show that somebody has signed in with it: a random text and, over it, a code whose key is what is
 * stored of the password. It opens nothing, every control process can check it, and it ends when the password changes.
 */
export function newDevice (passwordHash: string): string {
  const nonce = randomText(base62, 22)
  return `${nonce}.${codeOf(nonce, passwordHash)}`
}

/** Whether a browser's text was made for this password. */
export function isDevice (text: string, passwordHash: string): boolean {
  const [nonce = '', code = ''] = text.split('.')
  const wanted = Buffer.from(codeOf(nonce, passwordHash))
  const found = Buffer.from(code)
  return found.length === wanted.length && timingSafeEqual(found, wanted)
}

function codeOf (nonce: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`device ${nonce}`).digest('base64url')
}
