import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import pLimit from 'p-limit'
import { base62, randomText } from '../keys/random-text.js'
import { ControlRefused } from './refused.js'

/** RFC 7914 at the strength that OWASP's password storage page names: 128 MiB and some 0.3 s each. */
const cost = { N: 2 ** 17, r: 8, p: 1 }
const keyLength = 32

/** Each takes 128 MiB, so that a crowd at the door must wait instead of filling the memory. */
const inTurns = pLimit(2)
/** Some 15 seconds of work; who would come after that is asked to come again, or the queue would grow without end. */
const mostWaiting = 100

/** What is stored in place of a password: the costs, a salt and the hash, with `$` between. */
export async function hashPassword (password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** Whether this is the password that was hashed; without a stored one it takes as long and says no, so that time tells nobody who has an account. */
export async function isPassword (password: string, stored: string | null | undefined): Promise<boolean> {
  const [, N, r, p, salt, hash] = (stored ?? decoy).split('$')
  const wanted = Buffer.from(hash!, 'base64')
  const found = await derive(password, Buffer.from(salt!, 'base64'), { N: Number(N), r: Number(r), p: Number(p) })
  return timingSafeEqual(found, wanted) && stored != null
}

/**
 * A password that may be chosen. Length counts and nothing else, as NIST SP 800-63B has it.
 * @param field which part of a wish it is
 * @throws {ControlRefused} invalid
 */
export function goodPassword (password: string, field = 'password'): string {
  if (password.length < 12 || password.length > 200) throw new ControlRefused('invalid', 'A password must have 12 to 200 characters. A sentence works well.', field)
  return password
}

/** A password for the first sign-in, to be changed there: easy to copy, impossible to guess. */
export function oneTimePassword (): string {
  return randomText(base62, 20)
}

const decoy = ['scrypt', cost.N, cost.r, cost.p, Buffer.alloc(16).toString('base64'), Buffer.alloc(keyLength).toString('base64')].join('$')

async function derive (password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  // Twice what the algorithm takes, since the engine refuses at the very number.
  const maxmem = 256 * options.N! * options.r!
  if (inTurns.pendingCount >= mostWaiting) throw new ControlRefused('conflict', 'Too many people are signing in at the moment. Try again in a minute.')
  return inTurns(() => new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, keyLength, { ...options, maxmem }, (error, hash) => error ? reject(error) : resolve(hash))
  }))
}
