import t from 'tap'
import fc from 'fast-check'
import { base62 } from '../../src/keys/random-text.js'
import { hashSecret, generateSecret, readSecret } from '../../src/keys/secret.js'

const secrets = fc.constantFrom('test' as const, 'live' as const).map(generateSecret)
const indexes = fc.nat({ max: 57 })
const characters = fc.constantFrom(...base62, '_', '-', ' ', '\0', 'é')

t.test('a new secret has its mode, the length of the contract and is never the same twice', async t => {
  t.match(generateSecret('test'), /^svc_test_[0-9A-Za-z]{49}$/)
  t.match(generateSecret('live'), /^svc_live_[0-9A-Za-z]{49}$/)
  fc.assert(fc.property(secrets, secret => secret.startsWith(`svc_${readSecret(secret)?.mode}_`)))
  t.equal(new Set(Array.from({ length: 1_000 }, () => generateSecret('live'))).size, 1_000)
})

t.test('the random part uses every character about equally often', async t => {
  const counts = new Map<string, number>()
  for (let i = 0; i < 1_000; i++) {
    for (const character of generateSecret('test').slice(9, 52)) counts.set(character, (counts.get(character) ?? 0) + 1)
  }
  const expected = 43_000 / 62
  const chiSquare = [...base62].reduce(
    (sum, character) => sum + ((counts.get(character) ?? 0) - expected) ** 2 / expected,
    0
  )
  // 61 degrees of freedom: more than 135 comes once in ten million runs; a modulo bias of 256 % 62 would give about
  // 300.
  t.ok(chiSquare < 135, `chi-square ${chiSquare}`)
})

t.test('one changed character is rejected without a look-up', async () => {
  fc.assert(fc.property(secrets, indexes, characters, (secret, index, character) => {
    fc.pre(secret[index] !== character)
    return readSecret(secret.slice(0, index) + character + secret.slice(index + 1)) === undefined
  }), { numRuns: 5_000 })
})

t.test('one missing or doubled character is rejected without a look-up', async () => {
  fc.assert(fc.property(secrets, indexes, (secret, index) =>
    readSecret(secret.slice(0, index) + secret.slice(index + 1)) === undefined &&
    readSecret(secret.slice(0, index) + secret[index] + secret.slice(index)) === undefined))
})

t.test('two swapped characters are rejected without a look-up', async () => {
  fc.assert(fc.property(secrets, indexes, indexes, (secret, one, other) => {
    fc.pre(secret[one] !== secret[other])
    const swapped = [...secret]
    swapped[one] = secret[other]!
    swapped[other] = secret[one]!
    return readSecret(swapped.join('')) === undefined
  }), { numRuns: 5_000 })
})

t.test('a test key is not accepted as a live one, nor with anything around it', async t => {
  const secret = generateSecret('test')
  for (const text of [
    secret.replace('test', 'live'),
    secret.replace('svc', 'SVC'),
    ` ${secret}`,
    `${secret}\n`,
    `${secret},${secret}`,
    '',
    'svc_test_'
  ]) {
    t.equal(readSecret(text), undefined)
  }
})

t.test('the stored hash is SHA-256 and does not reveal the secret', async t => {
  t.equal(hashSecret('svc_test_abc'), '1a4bfd7b3d7776613d5c291f9a9413ba3aca90e6f41983c8329d661a2c8b8c04')
  t.match(hashSecret(generateSecret('live')), /^[0-9a-f]{64}$/)
})
