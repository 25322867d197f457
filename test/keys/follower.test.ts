import t, { type Test } from 'tap'
import { setTimeout as pause } from 'node:timers/promises'
import { KeyCache } from '../../src/keys/cache.js'
import type { Batch, ChangeFeed, KeyState, Position } from '../../src/keys/change-feed.js'
import { Follower } from '../../src/keys/follower.js'
import { Replica } from '../../src/keys/replica.js'
import { waitUntil } from '../harness/until.js'

const now = () => new Date('2030-01-01T00:00:00Z')

function buildKeyChange (seq: number, state: Partial<KeyState> = {}) {
  return {
    seq,
    kind: 'key' as const,
    state: {
      keyId: `key-${seq}`,
      hash: `hash-${seq}`,
      tenantId: 'org-a',
      name: '',
      mode: 'test' as const,
      scopes: ['*' as const],
      ...state
    }
  }
}

const first: Batch = {
  feedId: 'feed-1',
  isSnapshot: true,
  after: 0,
  through: 2,
  isLatest: true,
  changes: [{ seq: 1, kind: 'organization', state: { tenantId: 'org-a', plan: 'pro', overage: true } }, buildKeyChange(2)]
}
const revocation: Batch = {
  ...first,
  isSnapshot: false,
  after: 2,
  through: 3,
  changes: [buildKeyChange(3, { keyId: 'key-2', hash: 'hash-2', revokedAt: '2030-01-01T00:00:00.000Z' })]
}

/** A remote control plane whose connections yield what the test gives, and whose last one stays open. */
function createFarFeed (...connections: Array<Array<Batch | Error>>): ChangeFeed & { requested: Position[] } {
  const requested: Position[] = []
  async function * follow (from: Position, signal: AbortSignal) {
    const connection = connections[Math.min(requested.push(from), connections.length) - 1]!
    for (const item of connection) {
      if (item instanceof Error) throw item
      yield item
    }
    if (requested.length >= connections.length) await pause(60_000, undefined, { signal })
  }
  return { requested, follow }
}

function startFollower (t: Test, feed: ChangeFeed) {
  const replica = new Replica(':memory:')
  const cache = new KeyCache({ lookup: hash => replica.find(hash) })
  const lines: string[] = []
  const log = {
    info: (...args: unknown[]) => {
      lines.push(JSON.stringify(args))
    },
    warn: (...args: unknown[]) => {
      lines.push(JSON.stringify(args))
    }
  }
  const follower = new Follower({ feed, replica, cache, now, log })
  t.teardown(async () => { await follower.stop(); replica.close() })
  return { replica, cache, follower, lines }
}

t.test('a change from the feed is in the copy, and evicts its key from the cache at once', async t => {
  let release = () => {}
  const revoked = new Promise<void>(resolve => { release = resolve })
  const feed: ChangeFeed = {
    async * follow (_from, signal) {
      yield first
      await revoked
      yield revocation
      await pause(60_000, undefined, { signal })
    }
  }
  const { cache, follower, replica } = startFollower(t, feed)
  await follower.caughtUp
  t.equal((await cache.find('hash-2', now()))?.revokedAt, undefined)
  release()
  await waitUntil(() => replica.readPosition().seq === 3)
  t.ok((await cache.find('hash-2', now()))?.revokedAt)
})

t.test('a feed that fails is continued from the position of the copy, and the log reports both', async t => {
  const feed = createFarFeed([new Error('no route')], [first, new Error('cut off')], [revocation])
  const { follower, replica, lines } = startFollower(t, feed)
  t.equal(follower.isConnected, false)
  await waitUntil(() => replica.readPosition().seq === 3)
  t.same(feed.requested, [{ feedId: '', seq: 0 }, { feedId: '', seq: 0 }, { feedId: 'feed-1', seq: 2 }])
  t.equal(follower.isConnected, true)
  t.equal(lines.filter(line => line.includes('failed')).length, 2)
  t.equal(lines.filter(line => line.includes('works again')).length, 2)
})

t.test('a batch that does not fit is skipped, and the feed is requested again', async t => {
  const gap = { ...revocation, after: 7, through: 8 }
  const feed = createFarFeed([first, gap], [revocation])
  const { replica } = startFollower(t, feed)
  await waitUntil(() => replica.readPosition().seq === 3)
  t.same(feed.requested.at(-1), { feedId: 'feed-1', seq: 2 })
})

t.test('a feed that ends without an error is requested again, but not without a pause', async t => {
  const feed = createFarFeed([], [], [], [first])
  const started = performance.now()
  const { follower } = startFollower(t, feed)
  await follower.caughtUp
  t.ok(performance.now() - started >= 340, 'pauses of up to 100, 200 and 400 ms, and of at least half as much')
})

t.test('a follower stops at once, during a wait or a pause', async t => {
  for (const feed of [createFarFeed([first]), createFarFeed([new Error('no route')])]) {
    const { follower } = startFollower(t, feed)
    await waitUntil(() => feed.requested.length > 0)
    let hasStopped = false
    follower.stop().then(() => { hasStopped = true })
    // Turns of the event loop, and not the duration of its waits.
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    t.ok(hasStopped)
    t.equal(feed.requested.length, 1)
  }
})
