/** The guarantees of the change feed of a control store for a gateway that follows it, tested on the given database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import type { DatabaseLocation } from '../../src/control-plane/store/database.js'
import { createInProcessChangeFeed } from '../../src/control-plane/sync/local.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { createAuthenticator } from '../../src/keys/authenticate.js'
import { KeyCache } from '../../src/keys/cache.js'
import { Follower } from '../../src/keys/follower.js'
import { Replica } from '../../src/keys/replica.js'
import { buildMain } from '../harness/built.js'
import type { MakeDatabase } from './databases.js'

const now = () => new Date()
const cli = join(dirname(buildMain()), 'operator', 'cli', 'index.js')
const log = { info () {}, warn () {} }
/** So long that nothing which arrives sooner can have arrived by it. */
const neverMs = 60_000

/** A command of another process on the same control database. */
async function runCli ({ file, url }: DatabaseLocation, ...args: string[]) {
  const env = { ...process.env, CLINIGATE_DATA: dirname(file), CONTROL_DATABASE_URL: url ?? '' }
  const child = spawn(process.execPath, [cli, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', text => { out += text })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`clinigate ${args.join(' ')} ended with ${code}`)
  return JSON.parse(out)
}

/** The parts of a gateway that check keys, with their copy in the folder of the control database, or at `copy`. */
async function startKeyChecker (t: Test, location: DatabaseLocation, copy = getReplicaPath(location)) {
  const store = await openControlStore({ ...location, plans: ['pro'], now })
  const replica = new Replica(copy)
  const cache = new KeyCache({ lookup: hash => replica.find(hash) })
  const follower = new Follower({
    feed: createInProcessChangeFeed(store, { heartbeatMs: neverMs }),
    replica,
    cache,
    now,
    log
  })
  const check = createAuthenticator({ replica, cache, maxStalenessMinutes: null })
  const stop = async () => { await follower.stop(); replica.close(); await store.close() }
  t.teardown(stop)
  return { store, replica, follower, stop, call: async (secret: string) => await check(['x-api-key', secret], now()) }
}

const getReplicaPath = ({ file }: DatabaseLocation) => join(dirname(file), 'keys.db')

/** Checks a key over and over until the result changes; and the time of that. */
async function waitUntilRejected (call: () => Promise<unknown>): Promise<{ at: number, code: string }> {
  for (;;) {
    try {
      await call()
    } catch (error) {
      return { at: Date.now(), code: (error as { code: string }).code }
    }
    await pause(2)
  }
}

/** Resolves when a key is valid. */
async function waitUntilAccepted (call: () => Promise<unknown>): Promise<void> {
  while (!await call().then(() => true, () => false)) await pause(5)
}

/** Runs the whole contract. */
export async function testLocalFeed (t: Test, makeDatabase: MakeDatabase): Promise<void> {
  await t.test(
    'a key that another process creates is accepted, and one that it revokes is rejected at once, without polling',
    { timeout: 300_000 },
    async t => {
      const location = await makeDatabase(t)
      const gateway = await startKeyChecker(t, location)
      const { tenantId } = await runCli(location, 'orgs', 'create', '--name', 'Clinic', '--plan', 'pro')
      const { keyId, secret } = await runCli(location, 'keys', 'create', '--tenant', tenantId, '--mode', 'live')
      await waitUntilAccepted(() => gateway.call(secret))
      t.match(await gateway.call(secret), { keyId, tenantId, plan: 'pro', mode: 'live' })

      const refused = waitUntilRejected(() => gateway.call(secret))
      const { revokedAt } = await runCli(location, 'keys', 'revoke', keyId)
      const { at, code } = await refused
      t.equal(code, 'KEY_REVOKED')
      const delayMs = at - Date.parse(revokedAt)
      t.ok(delayMs < neverMs / 2)
      t.comment(`refused ${delayMs} ms after the revocation`)
    }
  )

  await t.test(
    'each of many revocations takes effect at once, while others write',
    { timeout: 300_000 },
    async t => {
      const location = await makeDatabase(t)
      const gateway = await startKeyChecker(t, location)
      const other = await openControlStore({ ...location, plans: ['pro'], now })
      t.teardown(() => other.close())
      const { tenantId } = await other.organizations.create({ name: 'Clinic', plan: 'pro' }, 'test')
      const keys: Array<{ readonly keyId: string; readonly secret: string }> = []
      for (let i = 0; i < 30; i++) keys.push(await other.keys.create({ tenantId, mode: 'test', name: `${i}` }, 'test'))
      await waitUntilAccepted(() => gateway.call(keys.at(-1)!.secret))
      const delays: number[] = []
      for (const { keyId, secret } of keys) {
        await gateway.call(secret)
        const revokedAt = Date.now()
        await other.keys.revoke(keyId, 'test')
        await other.keys.create({ tenantId, mode: 'test', name: 'noise' }, 'test')
        delays.push((await waitUntilRejected(() => gateway.call(secret))).at - revokedAt)
      }
      delays.sort((a, b) => a - b)
      t.comment(`revocation in force after ${delays[15]} ms median, ${delays[29]} ms at most`)
      t.ok(delays[29]! < neverMs / 2)
    }
  )

  await t.test('a copy that is deleted is rebuilt and validates as before', async t => {
    const location = await makeDatabase(t)
    const first = await startKeyChecker(t, location)
    const { tenantId } = await first.store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'test')
    const active = await first.store.keys.create({ tenantId, mode: 'test', name: 'good' }, 'test')
    const revoked = await first.store.keys.create({ tenantId, mode: 'test', name: 'revoked' }, 'test')
    await first.store.keys.revoke(revoked.keyId, 'test')
    await first.stop()
    for (const suffix of ['', '-wal', '-shm']) rmSync(getReplicaPath(location) + suffix, { force: true })

    const second = await startKeyChecker(t, location)
    await t.rejects(
      second.call(active.secret),
      { code: 'BACKEND_UNAVAILABLE' },
      'nobody is let in, nor called unknown, before it is complete'
    )
    await second.follower.caughtUp
    t.match(await second.call(active.secret), { keyId: active.keyId })
    await t.rejects(second.call(revoked.secret), { code: 'KEY_REVOKED' })
  })

  await t.test('a control store that is replaced takes its keys with it', async t => {
    const location = await makeDatabase(t)
    const first = await startKeyChecker(t, location)
    const { tenantId } = await first.store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'test')
    const { secret } = await first.store.keys.create({ tenantId, mode: 'test', name: 'old' }, 'test')
    await waitUntilAccepted(() => first.call(secret))
    await first.stop()
    const second = await startKeyChecker(t, await makeDatabase(t), getReplicaPath(location))
    await second.follower.caughtUp
    await t.rejects(second.call(secret), { code: 'INVALID_KEY' })
  })

  await t.test('an idle feed still reports from time to time that the copy is up to date', async t => {
    const store = await openControlStore({ ...await makeDatabase(t), plans: ['pro'], now })
    t.teardown(() => store.close())
    const stopping = new AbortController()
    const times: number[] = []
    await t.rejects(async () => {
      for await (const batch of createInProcessChangeFeed(store, { heartbeatMs: 50 }).follow(
        { feedId: '', seq: 0 },
        stopping.signal
      )) {
        t.same([batch.changes, batch.isLatest], [[], true])
        if (times.push(performance.now()) === 5) stopping.abort()
      }
    }, { name: 'AbortError' })
    const between = times.slice(1).map((time, at) => time - times[at]!)
    t.ok(
      between.filter(ms => ms < 40).length <= 1,
      `and not more often than asked, but once when the listening has begun: ${between.map(Math.round).join(' ')} ms`
    )
  })
}
