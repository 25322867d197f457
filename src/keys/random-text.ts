import { randomFillSync, randomInt } from 'node:crypto'

/** The 62 characters of a key: no separator, so that a double click selects all of it. */
export const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Lower-case letters and digits without 0, 1, 8 and 9, as in RFC 4648: valid in ids, FHIR codes and file names. */
export const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** An unguessable text: each character is drawn evenly from the alphabet by the system's secure generator. */
export function randomString (alphabet: string, length: number): string {
  // Bytes spread evenly over an alphabet of 32.
  const draw = alphabet.length === 32 ? () => nextByte() % 32 : () => randomInt(alphabet.length)
  let text = ''
  for (let i = 0; i < length; i++) text += alphabet[draw()]
  return text
}

const bytes = Buffer.alloc(4_096)
let used = bytes.length

/** A random byte, of many that are drawn at a time since each call of the system takes as long as a hundred bytes. */
function nextByte (): number {
  if (used === bytes.length) {
    randomFillSync(bytes)
    used = 0
  }
  return bytes[used++]!
}
