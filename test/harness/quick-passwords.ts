/**
 * Makes hashing a password, which is expensive on purpose, a hundred times cheaper in this process: tests sign in
 * hundreds of times. The stored form, and that two passwords differ, stay the same; the full price is paid by
 * test/control-store/passwords.test.ts and the tests of whole processes.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { scrypt } = crypto
const quickScrypt = (...[password, salt, length, options, done]: Parameters<typeof scrypt>): void =>
  scrypt(password, salt, length, { ...options, N: 2 ** 10 }, done)
Object.assign(crypto, { scrypt: quickScrypt })
syncBuiltinESMExports()
