import { randomInt } from 'node:crypto'
import { Type } from 'typebox'

/** An id of an organization, key, series or batch. */
export const idSchema = Type.String({ pattern: '^[\\w-]{1,64}$' })

/** The same, or an empty text where there is none. */
export const idOrNoneSchema = Type.String({ pattern: '^[\\w-]{0,64}$' })

/** The 62 characters of a key: no separator, so that a double click selects all of it. */
export const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Lower-case letters and digits without 0, 1, 8 and 9, as in RFC 4648: valid in ids, FHIR codes and file names. */
export const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** An unguessable text: each character is drawn evenly from the alphabet by the system's secure generator. */
export function randomString (alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}
