import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import pLimit from 'p-limit'
import { base62, randomString } from '../../keys/random-text.js'
import { ControlError } from './control-error.js'

/**
 * scrypt (RFC 7914) with the parameters of OWASP's Password Storage Cheat Sheet: 128 MiB and about 0.3 s for each hash.
 */
const cost = { N: 2 ** 17, r: 8, p: 1 }
const keyLength = 32

/** Each hash needs 128 MiB, so many concurrent sign-ins must wait instead of filling the memory. */
const limit = pLimit(2)
/** About 15 seconds of work. Further sign-ins must be retried later, so that the queue can't grow without limit. */
const maxWaiting = 100

/** The stored form of a password: the parameters, a salt and the hash, separated by `$`. */
export async function hashPassword (password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), hash.toString('base64')].join('$')
}

/**
 * Whether this is the hashed password. Without a stored hash it returns false after the same time, so that timing does
 * not disclose who has an account.
 */
export async function isPassword (password: string, stored: string | null | undefined): Promise<boolean> {
  const [, N, r, p, salt, hash] = (stored ?? decoy).split('$')
  const expected = Buffer.from(hash!, 'base64')
  const found = await derive(password, Buffer.from(salt!, 'base64'), { N: Number(N), r: Number(r), p: Number(p) })
  return timingSafeEqual(found, expected) && stored != null
}

/**
 * The password, if it is acceptable. Only its length counts, as NIST SP 800-63B recommends.
 * @param field the member of the request that has it
 * @throws {ControlError} invalid
 */
export function parsePassword (password: string, field = 'password'): string {
  if (password.length < 12 || password.length > 200) {
    throw new ControlError('invalid', 'A password must have 12 to 200 characters. A sentence works well.', field)
  }
  return password
}

/** A random password that must be changed at the next sign-in. */
export function createOneTimePassword (): string {
  return randomString(base62, 20)
}

const decoy = [
  'scrypt',
  cost.N,
  cost.r,
  cost.p,
  Buffer.alloc(16).toString('base64'),
  Buffer.alloc(keyLength).toString('base64')
].join('$')

async function derive (password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  // Twice the memory that scrypt needs, since Node refuses the exact number.
  const maxmem = 256 * options.N! * options.r!
  if (limit.pendingCount >= maxWaiting) {
    throw new ControlError('conflict', 'Too many people are signing in at the moment. Try again in a minute.')
  }
  return limit(() => new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, keyLength, { ...options, maxmem }, (error, hash) =>
      error ? reject(error) : resolve(hash)
    )
  }))
}
