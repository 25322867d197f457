import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { IdempotentRequest } from '../../src/idempotency/digest.js'
import { IdempotencyStore, type IdempotencyClaim } from '../../src/idempotency/keyed-requests.js'
import { SharedRequests } from '../../src/idempotency/shared-requests.js'
import { startRedis } from '../harness/redis.js'
import { waitUntil } from '../harness/until.js'
import { catchFailure } from '../tenant-guard/guarded.js'

const server = await startRedis(t)
const leaseMs = 400
const request: IdempotentRequest = {
  tenantId: 't',
  mode: 'test',
  key: 'patient-4711-secret',
  method: 'PATCH',
  route: 'patients',
  id: '1',
  body: { lastName: 'Byron-secret' }
}

async function openStores (t: Test) {
  const redis = new Redis(server.url)
  t.after(() => redis.disconnect())
  await redis.flushall()
  const storeOf = () => {
    const storage = new SharedRequests({ redis, leaseMs })
    t.after(() => storage.close())
    const store = new IdempotencyStore({ storage, now: () => new Date() })
    const perform = async <T>(work: (claim: IdempotencyClaim) => Promise<T>): Promise<T> => {
      await using claim = await store.claim(request)
      return await work(claim)
    }
    return { storage, perform }
  }
  return { redis, first: storeOf(), other: storeOf() }
}

t.test('a request stays claimed for as long as it is performed', async t => {
  const { first, other } = await openStores(t)
  await first.perform(async () => {
    const startedAt = performance.now()
    await waitUntil(async () => {
      t.equal((await catchFailure(other.perform(async () => t.fail('performed twice')))).code, 'CONFLICT')
      return performance.now() - startedAt > 2 * leaseMs
    })
  })
  t.equal(await other.perform(async () => 'performed'), 'performed')
})

t.test('a gateway that was halted for long writes no change any more, since another one may have taken over', async t => {
  const { first, other } = await openStores(t)
  const failure = await catchFailure(first.perform(async claim => {
    // Its lease is not renewed any more.
    first.storage.close()
    const takeOver = async (): Promise<boolean> => {
      const taken = other.perform(async claim => {
        await claim.intend({ version: '3', content: 'mine' })
        return true
      })
      return await taken.catch(() => false)
    }
    await waitUntil(takeOver)
    await claim.finish({ id: 'of the halted gateway' })
    await claim.intend({ version: '3', content: 'of the halted gateway' })
  }))
  t.equal(failure.code, 'CONFLICT')
  await other.perform(async ({ intent, result }) =>
    t.strictSame([intent, result], [{ version: '3', content: 'mine' }, undefined]))
})

t.test('neither a key nor anything of a record is in Redis, and nothing stays there for ever', async t => {
  const { redis, first } = await openStores(t)
  await first.perform(async claim => {
    await claim.intend({ version: '1', content: claim.digestOf(request.body) })
    await claim.finish({ id: '7', version: '2' })
  })
  const keys = await redis.keys('*')
  t.equal(keys.length, 1)
  for (const key of keys) {
    t.notMatch(key + JSON.stringify(await redis.hgetall(key)), 'secret')
    t.ok(await redis.pttl(key) > 23 * 3_600_000)
  }
})
