import t from 'tap'
import { KeyCache } from '../../src/keys/cache.js'
import type { KeyRecord } from '../../src/keys/replica.js'

const start = Date.parse('2030-01-01T00:00:00Z')

function record (hash: string, rest: Partial<KeyRecord> = {}): KeyRecord {
  return {
    hash,
    caller: { keyId: hash, keyName: '', tenantId: 'org-a', plan: 'pro', overage: true, mode: 'test', scopes: ['*'] },
    ...rest
  }
}

/** A cache over keys that the test changes, with a clock that the test sets and a count of look-ups. */
function cacheOver (keys: Map<string, KeyRecord>, size?: number) {
  let passed = 1
  const seen: string[] = []
  const cache = new KeyCache({
    size,
    clock: { now: () => passed },
    lookup: hash => {
      seen.push(hash)
      return keys.get(hash)
    }
  })
  return {
    find: (hash: string) => cache.find(hash, new Date(start + passed)),
    cache,
    seen,
    pass: (ms: number) => {
      passed += ms
    }
  }
}

t.test('a key is looked up once in 60 seconds, and an unknown one once in 5', async t => {
  const { find, seen, pass } = cacheOver(new Map([['good', record('good')]]))
  for (let i = 0; i < 3; i++) t.equal((await find('good'))?.hash, 'good')
  for (let i = 0; i < 3; i++) t.equal(await find('none'), undefined)
  t.same(seen, ['good', 'none'])
  pass(5_001)
  await find('good')
  await find('none')
  t.same(seen, ['good', 'none', 'none'])
  pass(55_000)
  await find('good')
  t.same(seen, ['good', 'none', 'none', 'good'], 'use does not lengthen the minute')
})

t.test('no key is cached past its expiry', async t => {
  const { find, seen, pass } = cacheOver(
    new Map([
      ['soon', record('soon', { expiresAt: start + 10_000 })],
      ['past', record('past', { expiresAt: start })]
    ])
  )
  await find('soon')
  await find('soon')
  t.equal(seen.length, 1)
  pass(10_000)
  await find('soon')
  t.equal(seen.length, 2)
  await find('past')
  await find('past')
  t.equal(seen.length, 4)
})

t.test('a changed key is looked up again at once, also one that was unknown', async t => {
  const keys = new Map([['good', record('good')], ['other', record('other')]])
  const { find, cache, seen } = cacheOver(keys)
  for (const hash of ['good', 'other', 'new']) await find(hash)
  keys.set('good', record('good', { revokedAt: start }))
  keys.set('new', record('new'))
  cache.evict(new Set(['good', 'new']))
  t.equal((await find('good'))?.revokedAt, start)
  t.ok(await find('new'))
  await find('other')
  t.same(seen, ['good', 'other', 'new', 'good', 'new'])
  cache.evict('everything')
  await find('other')
  t.equal(seen.at(-1), 'other')
})

t.test('guessed keys do not evict valid ones, and neither cache grows without limit', async t => {
  const keys = new Map(Array.from({ length: 100 }, (_, i) => [`good-${i}`, record(`good-${i}`)]))
  const { find, seen } = cacheOver(keys, 100)
  for (const hash of keys.keys()) await find(hash)
  for (let i = 0; i < 1_000; i++) await find(`guess-${i}`)
  seen.length = 0
  for (const hash of keys.keys()) await find(hash)
  t.equal(seen.length, 0)
  await find('guess-0')
  t.equal(seen.length, 1, 'an early guess was let go')
})

t.test('a look-up in flight while its key is revoked does not put it back', async t => {
  const stored = new Map([['key', record('key')]])
  const waiting: Array<() => void> = []
  // The result is read before the revocation and arrives after it, as from a distant store.
  const cache = new KeyCache({
    lookup: hash => {
      const found = stored.get(hash)
      return new Promise(resolve => waiting.push(() => resolve(found)))
    }
  })
  const early = cache.find('key', new Date(start))
  stored.set('key', record('key', { revokedAt: start }))
  cache.evict(new Set(['key']))
  waiting.shift()?.()
  t.equal((await early)?.revokedAt, undefined, 'the request that was under way gets what was true at its beginning')
  const nextLookup = cache.find('key', new Date(start))
  waiting.shift()?.()
  t.equal((await nextLookup)?.revokedAt, start, 'the next one sees the revocation')
})

t.test('a look-up in flight while its key is created does not leave it unknown', async t => {
  const waiting: Array<(found: KeyRecord | undefined) => void> = []
  const cache = new KeyCache({ lookup: () => new Promise(resolve => waiting.push(resolve)) })
  const early = cache.find('key', new Date(start))
  cache.evict(new Set(['key']))
  waiting.shift()?.(undefined)
  t.equal(await early, undefined)
  const nextLookup = cache.find('key', new Date(start))
  waiting.shift()?.(record('key'))
  t.ok(await nextLookup)
})
