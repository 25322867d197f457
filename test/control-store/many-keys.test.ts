import t, { type Test } from 'tap'
import { createHash } from 'node:crypto'
import { openDatabase, type DatabaseLocation } from '../../src/control-plane/store/database.js'
import { createInProcessChangeFeed } from '../../src/control-plane/sync/local.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { KeyCache } from '../../src/keys/cache.js'
import { Follower } from '../../src/keys/follower.js'
import { Replica } from '../../src/keys/replica.js'
import { makeFileDatabase } from './databases.js'

const count = 100_000
const now = () => new Date('2030-01-01T00:00:00Z')
const hashKey = (number: number) => createHash('sha256').update(String(number)).digest('base64url')

/** Writes keys as the store would, without a transaction for each. */
async function fill (location: DatabaseLocation): Promise<void> {
  const { db, close } = await openDatabase(location)
  const at = now().toISOString()
  const buildState = (number: number) =>
    number === 0
      ? { tenantId: 'org-a', plan: 'pro', overage: true }
      : {
          keyId: `key-${number}`,
          hash: hashKey(number),
          tenantId: 'org-a',
          name: `key ${number}`,
          mode: 'live',
          scopes: ['*']
        }
  await db.transaction().execute(async trx => {
    for (let from = 0; from <= count; from += 1_000) {
      const numbers = Array.from({ length: Math.min(1_000, count + 1 - from) }, (_, at) => from + at)
      const rows = numbers.map(number => ({
        kind: number === 0 ? ('organization' as const) : ('key' as const),
        entity: `e-${number}`,
        seq: number + 1,
        payload: JSON.stringify(buildState(number)),
        at
      }))
      await trx.insertInto('changes').values(rows).execute()
    }
    await trx.updateTable('feed').set({ seq: count + 1 }).execute()
  })
  await close()
}

t.test(
  'a copy of 100,000 keys is built in seconds, finds each at once, and takes little memory',
  { timeout: 300_000 },
  async (t: Test) => {
    const location = await makeFileDatabase(t)
    await fill(location)
    const store = await openControlStore({ ...location, plans: ['pro'], now })
    const replica = new Replica(`${location.file}-copy`)
    const before = process.memoryUsage().rss
    const startedAt = performance.now()
    const cache = new KeyCache({ lookup: hash => replica.find(hash) })
    const follower = new Follower({
      feed: createInProcessChangeFeed(store),
      replica,
      cache,
      now,
      log: { info () {}, warn () {} }
    })
    t.teardown(async () => {
      await follower.stop()
      replica.close()
      await store.close()
    })
    await follower.caughtUp
    const builtMs = performance.now() - startedAt

    const times: number[] = []
    for (let number = 1; number <= count; number += 10) {
      const hash = hashKey(number)
      const requestedAt = performance.now()
      const found = replica.find(hash)
      times.push(performance.now() - requestedAt)
      if (found?.caller.keyId !== `key-${number}`) t.fail(`key ${number} was not found`)
    }
    times.sort((a, b) => a - b)
    const medianUs = times[times.length >> 1]! * 1_000
    const grownMiB = (process.memoryUsage().rss - before) / 2 ** 20
    t.comment(
      `built in ${builtMs.toFixed(0)} ms; look-up ${medianUs.toFixed(1)} µs median; memory grew by ${grownMiB.toFixed(0)} MiB`
    )
    t.equal(times.length, count / 10)
    t.equal(replica.find(hashKey(count + 1)), undefined)
    // Far from the measured values: a busy machine must not fail, a missing index must.
    t.ok(builtMs < 60_000)
    t.ok(medianUs < 1_000)
    t.ok(grownMiB < 200)
  }
)
