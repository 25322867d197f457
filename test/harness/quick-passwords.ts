/**
 * Makes the hash of a password, which is meant to be dear, a hundred times cheaper in this process: tests sign people
 * in hundreds of times. What is stored, and that two passwords differ, stays the same; the full price is paid by
 * test/control-store/passwords.test.ts and the tests of whole processes.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { scrypt } = crypto
const quickScrypt = (...[password, salt, length, options, done]: Parameters<typeof scrypt>): void =>
  scrypt(password, salt, length, { ...options, N: 2 ** 10 }, done)
Object.assign(crypto, { scrypt: quickScrypt })
syncBuiltinESMExports()
