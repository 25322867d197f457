import t from 'tap'
import { hashPassword, isPassword } from '../../src/control-plane/store/passwords.js'

t.test('a password is stored as a hash at the cost that OWASP recommends, and verifies against that hash alone', async t => {
  const stored = await hashPassword('a sentence that only I know')
  t.match(stored, /^scrypt\$131072\$8\$1\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=$/)
  t.equal(await isPassword('a sentence that only I know', stored), true)
  t.equal(await isPassword('a sentence that only I knew', stored), false)
  t.not(await hashPassword('a sentence that only I know'), stored, 'with another salt each time')
})

t.test('no password verifies where none is stored', async t => {
  t.equal(await isPassword('', null), false)
  t.equal(await isPassword('a sentence that only I know', undefined), false)
})
