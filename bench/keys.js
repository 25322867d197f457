// How long a gateway's copy of many keys takes to build, how fast a key is found in it, and how much memory its process
// needs; then how soon a change by another process reaches a copy, on SQLite and, where CONTROL_DATABASE_URL names an
// empty database, on PostgreSQL. Usage: npm run build && node bench/keys.js [--keys 100000] [--changes 200]
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../dist/control-plane/store/database.js'
import { createInProcessChangeFeed } from '../dist/control-plane/sync/local.js'
import { openControlStore } from '../dist/control-plane/store/store.js'
import { Follower } from '../dist/keys/follower.js'
import { KeyCache } from '../dist/keys/cache.js'
import { Replica } from '../dist/keys/replica.js'
import { describeMachine, quantile } from './figures.js'
import { readResidentMemory } from './processes.js'

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '100000' },
    changes: { type: 'string', default: '200' },
    copy: { type: 'string' }
  }
})
const keys = Number(values.keys)
const now = () => new Date()
const hashOf = number => createHash('sha256').update(String(number)).digest('base64url')

if (values.copy !== undefined) {
  console.log(JSON.stringify(await measureCopy(values.copy)))
} else {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-bench-'))
  try {
    await run(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function run (directory) {
  console.log(`${describeMachine()}\n`)
  console.log('| keys | built ms | look-up median µs | p99 µs | resident MiB |\n|---|---|---|---|---|')
  for (const round of [1, 2, 3]) {
    const folder = join(directory, String(round))
    await fill(join(folder, 'control.db'))
    const { stdout, status } = spawnSync(
      process.execPath,
      [import.meta.filename, `--keys=${keys}`, `--copy=${folder}`],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }
    )
    if (status !== 0) throw new Error(`the copy ended with ${status}`)
    const { builtMs, medianUs, p99Us, mib } = JSON.parse(stdout)
    console.log(
      `| ${keys} | ${builtMs.toFixed(0)} | ${medianUs.toFixed(1)} | ${p99Us.toFixed(1)} | ${mib.toFixed(0)} |`
    )
  }
  console.log('\n| control database | from the call that changes to the batch: median ms | p99 ms |\n|---|---|---|')
  await showDelays('SQLite', { file: join(directory, 'delays.db') })
  const url = process.env.CONTROL_DATABASE_URL
  if (url) await showDelays('PostgreSQL', { file: '', url })
}

/** Writes keys as the store would, without a transaction for each. */
async function fill (file) {
  const { db, close } = await openDatabase({ file })
  const at = now().toISOString()
  const organization = {
    kind: 'organization',
    entity: 'org-a',
    seq: 1,
    payload: JSON.stringify({ tenantId: 'org-a', plan: 'pro', overage: true }),
    at
  }
  const buildKey = number => ({
    keyId: `key-${number}`,
    hash: hashOf(number),
    tenantId: 'org-a',
    name: `key ${number}`,
    mode: 'live',
    scopes: ['*']
  })
  await db.transaction().execute(async trx => {
    await trx.insertInto('changes').values(organization).execute()
    for (let from = 1; from <= keys; from += 1_000) {
      const numbers = Array.from({ length: Math.min(1_000, keys + 1 - from) }, (_, i) => from + i)
      await trx
        .insertInto('changes')
        .values(
          numbers.map(number => ({
            kind: 'key',
            entity: `key-${number}`,
            seq: number + 1,
            payload: JSON.stringify(buildKey(number)),
            at
          }))
        )
        .execute()
    }
    await trx.updateTable('feed').set({ seq: keys + 1 }).execute()
  })
  await close()
}

/** In a process of its own, so that the measured memory is its alone. */
async function measureCopy (folder) {
  const store = await openControlStore({ file: join(folder, 'control.db'), plans: ['pro'], now })
  const replica = new Replica(join(folder, 'keys.db'))
  const startedAt = performance.now()
  const follower = new Follower({
    feed: createInProcessChangeFeed(store),
    replica,
    cache: new KeyCache({ lookup: hash => replica.find(hash) }),
    now,
    log: { info () {}, warn () {} }
  })
  await follower.caughtUp
  const builtMs = performance.now() - startedAt
  const times = []
  for (let i = 0; i < 50_000; i++) {
    const hash = hashOf(1 + (i * 7_919) % keys)
    const lookupStartedAt = performance.now()
    if (replica.find(hash) === undefined) throw new Error('a key was not found')
    times.push((performance.now() - lookupStartedAt) * 1_000)
  }
  const mib = readResidentMemory(process.pid)
  await follower.stop()
  replica.close()
  await store.close()
  return { builtMs, medianUs: quantile(times, 0.5), p99Us: quantile(times, 0.99), mib }
}

/** Two stores with nothing in common but the database stand for two processes. */
async function showDelays (name, database) {
  const [here, there] = [
    await openControlStore({ ...database, plans: ['pro'], now }),
    await openControlStore({ ...database, plans: ['pro'], now })
  ]
  const stopping = new AbortController()
  const waiting = new Map()
  const reading = read(createInProcessChangeFeed(here), stopping.signal, waiting)
  const { tenantId } = await there.organizations.create({ name: 'bench', plan: 'pro' }, 'bench')
  const delays = []
  for (let i = 0; i < Number(values.changes); i++) {
    const next = new Promise(resolve => waiting.set('next', resolve))
    const startedAt = performance.now()
    await there.organizations.change(tenantId, { overage: i % 2 === 0 }, 'bench')
    delays.push(await next - startedAt)
  }
  stopping.abort()
  await reading
  await here.close()
  await there.close()
  console.log(`| ${name} | ${quantile(delays, 0.5).toFixed(1)} | ${quantile(delays, 0.99).toFixed(1)} |`)
}

async function read (feed, signal, waiting) {
  try {
    for await (const { changes } of feed.follow({ feedId: '', seq: 0 }, signal)) {
      if (changes.length > 0) waiting.get('next')?.(performance.now())
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
