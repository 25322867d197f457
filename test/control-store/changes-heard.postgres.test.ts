import t, { type Test } from 'tap'
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createInProcessChangeFeed } from '../../src/control-plane/sync/local.js'
import { openControlStore, type ControlStore } from '../../src/control-plane/store/store.js'
import { KeyCache } from '../../src/keys/cache.js'
import type { Batch } from '../../src/keys/change-feed.js'
import { Follower } from '../../src/keys/follower.js'
import { Replica } from '../../src/keys/replica.js'
import { startPostgres } from '../harness/postgres.js'

const now = () => new Date()
const log = { info () {}, warn () {} }
/** So long that nothing which arrives sooner can have arrived by it. */
const neverMs = 60_000

const server = await startPostgres(t)

/** A control process: a store with connections of its own. */
async function openProcessStore (t: Test, url: string): Promise<ControlStore> {
  const store = await openControlStore({ file: '', url, plans: ['pro'], now })
  t.teardown(() => store.close())
  return store
}

/** Reads a feed until the test ends, and stores each change with its time. */
function startReader (t: Test, store: ControlStore, heartbeatMs = neverMs) {
  const stopping = new AbortController()
  const batches: Array<Batch & { at: number }> = []
  const reading = (async () => {
    for await (const batch of createInProcessChangeFeed(store, { heartbeatMs }).follow(
      { feedId: '', seq: 0 },
      stopping.signal
    )) { batches.push({ ...batch, at: performance.now() }) }
  })()
  reading.catch(() => {})
  t.teardown(async () => {
    stopping.abort()
    await reading.catch(() => {})
  })
  const waitForSeq = async (seq: number) => {
    while (!batches.some(({ through }) => through >= seq)) await Promise.race([pause(1), reading])
    return batches.find(({ through }) => through >= seq)!
  }
  return { batches, waitForSeq, numbers: () => batches.flatMap(({ changes }) => changes.map(({ seq }) => seq)) }
}

/** The copy of a gateway, as it follows a control store. */
function startReplica (t: Test, store: ControlStore) {
  const replica = new Replica(':memory:')
  const cache = new KeyCache({ lookup: hash => replica.find(hash) })
  const follower = new Follower({ feed: createInProcessChangeFeed(store), replica, cache, now, log })
  t.teardown(async () => {
    await follower.stop()
    replica.close()
  })
  return { follower, waitForSeq: async (seq: number) => { while (replica.readPosition().seq < seq) await pause(2) } }
}

/** The processes of the server that listen for changes in a database. */
async function listListenerPids (url: string): Promise<number[]> {
  const rows = await server.query(
    "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND query IN ('LISTEN clinigate_changes', 'SELECT 1')",
    [new URL(url).pathname.slice(1)]
  )
  return rows.map(({ pid }) => pid)
}

async function waitForListener (url: string, isNew: (pid: number) => boolean = () => true): Promise<number> {
  for (;;) {
    const pid = (await listListenerPids(url)).find(isNew)
    if (pid !== undefined) return pid
    await pause(10)
  }
}

t.test(
  'two processes that write concurrently create numbers that become visible in order: a reader meanwhile gets every one, and in order',
  { timeout: 300_000 },
  async t => {
    const url = await server.createDatabase()
    const [reading, ...writing] = await Promise.all([1, 2, 3].map(() => openProcessStore(t, url)))
    const reader = startReader(t, reading!)
    // A second reader, which never waits for a notification, has every chance to look in a bad moment.
    const writers = { areDone: false }
    const polled: number[] = []
    const polling = (async () => {
      for (let position = { feedId: '', seq: 0 }; !writers.areDone || polled.length < 200;) {
        const batch = await reading!.listChangesAfter(position, 7)
        if (batch.after !== (batch.isSnapshot ? 0 : position.seq)) throw new Error('the batch does not follow')
        polled.push(...batch.changes.map(({ seq }) => seq))
        position = { feedId: batch.feedId, seq: batch.through }
      }
    })()
    const write = async (store: ControlStore, name: string) => {
      for (let i = 0; i < 20; i++) await store.organizations.create({ name: `${name} ${i}`, plan: 'pro' }, 'ann')
    }
    await Promise.all(writing.flatMap((store, at) => Array.from({ length: 5 }, (_, i) => write(store, `${at}.${i}`))))
    writers.areDone = true
    await polling
    await reader.waitForSeq(200)
    const all = Array.from({ length: 200 }, (_, i) => i + 1)
    t.strictSame(polled, all)
    t.strictSame(reader.numbers(), all)
  }
)

t.test('a change by another process is notified at once, without polling', { timeout: 300_000 }, async t => {
  const url = await server.createDatabase()
  const [here, there] = [await openProcessStore(t, url), await openProcessStore(t, url)]
  const reader = startReader(t, here)
  await waitForListener(url)
  const { tenantId } = await there.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
  const delays: number[] = []
  for (let seq = 2; seq <= 201; seq++) {
    // The notification is sent with the commit, so the change itself belongs to the time.
    const startedAt = performance.now()
    await there.organizations.change(tenantId, { overage: seq % 2 === 0 }, 'ann')
    delays.push((await reader.waitForSeq(seq)).at - startedAt)
  }
  delays.sort((a, b) => a - b)
  t.comment(
    `from the call that changes to the batch: ${delays[100]!.toFixed(1)} ms median, ${delays[197]!.toFixed(1)} ms p99, ${delays[199]!.toFixed(1)} ms at most`
  )
  t.ok(delays[199]! < neverMs / 2)
})

t.test('a notification between a look and the wait counts', async t => {
  const url = await server.createDatabase()
  const [here, there] = [await openProcessStore(t, url), await openProcessStore(t, url)]
  const heard = here.listenForChanges()
  const { signal } = new AbortController()
  await heard.next(signal, neverMs)
  await there.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
  await pause(500)
  await heard.next(signal, neverMs)
  t.pass('and nobody had to wait for the next one')
})

t.test('a change without a notification is found by polling all the same', async t => {
  const url = await server.createDatabase()
  const store = await openProcessStore(t, url)
  const reader = startReader(t, store, 300)
  await reader.waitForSeq(0)
  await waitForListener(url)
  const name = new URL(url).pathname.slice(1)
  // In one statement, as both are in one transaction of the store: else a look in between would find the number and no
  // change.
  await server.queryDatabase(
    name,
    "WITH counted AS (UPDATE feed SET seq = 1) INSERT INTO changes (kind, entity, seq, payload, at) VALUES ('organization', 'org-a', 1, '{}', '')"
  )
  t.match(await reader.waitForSeq(1), { changes: [{ seq: 1 }] })
})

t.test('a listener whose connection is ended opens another one, and misses nothing in between', async t => {
  const url = await server.createDatabase()
  const [here, there] = [await openProcessStore(t, url), await openProcessStore(t, url)]
  const reader = startReader(t, here)
  for (let seq = 1; seq <= 5; seq++) {
    const pid = await waitForListener(url)
    await server.query('SELECT pg_terminate_backend($1)', [pid])
    await there.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
    await reader.waitForSeq(seq)
    await waitForListener(url, other => other !== pid)
  }
  t.strictSame(reader.numbers(), [1, 2, 3, 4, 5])
})

t.test(
  'a copy goes on after the server was stopped and started again, and the process survives',
  { timeout: 300_000 },
  async t => {
    const url = await server.createDatabase()
    const [here, there] = [await openProcessStore(t, url), await openProcessStore(t, url)]
    const copy = startReplica(t, here)
    const { tenantId } = await there.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
    await copy.waitForSeq(1)
    await server.stop()
    await t.rejects(there.organizations.change(tenantId, { overage: false }, 'ann'), {
      name: 'DatabaseUnavailable',
      cause: { message: /cannot be reached/ }
    })
    while (copy.follower.isConnected) await pause(10)
    t.pass('the copy knows that it is cut off, before it would have asked again')
    await server.start()
    await there.organizations.change(tenantId, { overage: false }, 'ann')
    await copy.waitForSeq(2)
    t.equal(copy.follower.isConnected, true)
    await there.organizations.change(tenantId, { overage: true }, 'ann')
    await copy.waitForSeq(3)
  }
)

t.test(
  'a server that falls silent is given up, and new connections work',
  { timeout: 300_000 },
  async t => {
    const url = new URL(await server.createDatabase())
    // Creates the tables first, which may take longer than the other one waits.
    const { tenantId } = await (
      await openProcessStore(t, url.href)
    ).organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
    const line = await startSilenceableProxy(t, Number(url.port))
    url.port = String(line.port)
    url.searchParams.set('query_timeout', '3000')
    const store = await openProcessStore(t, url.href)
    const copy = startReplica(t, store)
    await copy.waitForSeq(1)
    // Idle connections, more than the reader of the changes may have in use: the next change takes one of them.
    await Promise.all(Array.from({ length: 4 }, () => store.organizations.list()))
    line.silence()
    const change = () => store.organizations.change(tenantId, { overage: false }, 'ann')
    await t.rejects(change(), { name: 'DatabaseUnavailable', cause: { message: /takes too long/ } })
    // Each idle connection is found to be closed when it is used.
    for (
      let attempts = 1;
      await change().then(
        () => false,
        () => true
      );
      attempts++
    ) { t.ok(attempts < 10) }
    await copy.waitForSeq(2)
  }
)

/** Forwards connections to the server; once silenced, the existing ones carry nothing more and stay open. */
async function startSilenceableProxy (t: Test, port: number): Promise<{ port: number, silence: () => void }> {
  const sockets: Socket[] = []
  const line = createServer(from => {
    const to = connect(port, '127.0.0.1')
    sockets.push(from, to)
    from.on('error', () => to.destroy()).on('close', () => to.destroy()).pipe(to)
    to.on('error', () => from.destroy()).on('close', () => from.destroy()).pipe(from)
  })
  await new Promise<void>(resolve => line.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    line.close()
  })
  return {
    port: (line.address() as AddressInfo).port,
    silence: () => { for (const socket of sockets) socket.unpipe().pause() }
  }
}
