import { join } from 'node:path'
import t, { type Test } from 'tap'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { openDatabase } from '../../src/control-plane/store/database.js'
import { serializeError } from '../../src/http/log.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { run } from '../../src/operator/cli/run.js'
import { password, startPostgres, user } from '../harness/postgres.js'

const now = () => new Date()
const file = '/nowhere/control.db'
const certificate = join(import.meta.dirname, '../backends/self-signed.pem')
const key = join(import.meta.dirname, '../backends/self-signed-key.pem')

const server = await startPostgres(t, { cert: certificate, key })

async function openTestDatabase (t: Test, url: string) {
  const database = await openDatabase({ file, url })
  t.teardown(() => database.close())
  return database
}

function modifyUrl (url: string, change: (parsed: URL) => void): string {
  const parsed = new URL(url)
  change(parsed)
  return parsed.href
}

/** The number of client connections to a database of the server, whose own processes work in its databases, too. */
async function countConnections (url: string): Promise<number> {
  const [row] = await server.query(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
    [new URL(url).pathname.slice(1)]
  )
  return row!.count
}

t.test('processes that start at once on an empty database all find it complete', async t => {
  const url = await server.createDatabase()
  const databases = await Promise.all(Array.from({ length: 6 }, () => openTestDatabase(t, url)))
  const feeds = await Promise.all(databases.map(({ db }) => db.selectFrom('feed').selectAll().execute()))
  t.equal(feeds[0]!.length, 1)
  for (const feed of feeds) t.strictSame(feed, feeds[0])
})

t.test('a number is a number, of however many bytes, and so is a count or a sum', async t => {
  const { db } = await openTestDatabase(t, await server.createDatabase())
  const { rows } =
    await sql<object>`SELECT (SELECT seq FROM feed) AS seq, count(*) AS count, sum(i) AS sum, 4102444800000::bigint AS long FROM generate_series(1, 3) i`.execute(
      db
    )
  t.strictSame(rows, [{ seq: 0, count: 3, sum: 6, long: 4_102_444_800_000 }])
})

t.test('one process never takes more than its share of connections, and later queries wait for one', async t => {
  const url = await server.createDatabase()
  const { db } = await openTestDatabase(t, url)
  const ended = { count: 0 }
  const slow = Array.from({ length: 30 }, () => sql`SELECT pg_sleep(0.2)`.execute(db).then(() => { ended.count++ }))
  const taken: number[] = []
  while (ended.count < 30) taken.push(await countConnections(url))
  taken.push(await countConnections(url))
  const maxConnections = Math.max(...taken)
  t.ok(maxConnections > 1 && maxConnections <= 10, `${maxConnections} connections`)
  await Promise.all(slow)
})

t.test('after closing no connection is left', async t => {
  const url = await server.createDatabase()
  const database = await openDatabase({ file, url })
  const heard = database.listenForChanges()
  await heard.next(new AbortController().signal, 10_000)
  t.ok(await countConnections(url) >= 1)
  await database.close()
  for (let i = 0; i < 1_000 && await countConnections(url) > 0; i++) await pause(20)
  t.equal(await countConnections(url), 0)
})

t.test('an unusable database is reported with what to do, and without its URL', async t => {
  const url = await server.createDatabase()
  await server.query(`CREATE ROLE stranger LOGIN PASSWORD '${password}'`)
  const cases: ReadonlyArray<readonly [string, RegExp]> = [
    [
      modifyUrl(url, url => {
        url.port = '1'
      }),
      /cannot be reached.*host and port.*ECONNREFUSED/
    ],
    [
      modifyUrl(url, url => {
        url.hostname = 'no-such-host.invalid'
      }),
      /host.*is unknown/
    ],
    [
      modifyUrl(url, url => {
        url.password = 'wrong-tops3cret'
      }),
      /rejected the user or password.*28P01/
    ],
    [
      modifyUrl(url, url => {
        url.password = ''
      }),
      /rejected the user or password/
    ],
    [
      modifyUrl(url, url => {
        url.username = 'stranger'
      }),
      /lacks a permission.*owner.*42501/
    ],
    [server.buildUrl('nowhere_to_be_found'), /no such database.*3D000/],
    [`${url}?sslmode=require`, /certificate.*sslrootcert/],
    [`${url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`, /A file.*sslrootcert, cannot be read/],
    ...['prefer', 'allow', 'no-verify', 'anything'].map(mode => [`${url}?sslmode=${mode}`, /only sslmode/] as const),
    ...['ssl=true', 'ssl=no-verify', 'sslmode=require&uselibpqcompat=true'].map(
      query => [`${url}?${query}`, /only sslmode/] as const
    )
  ]
  for (const [wrong, words] of cases) {
    const error = await openDatabase({ file, url: wrong }).then(
      () => {
        throw new Error('it was opened')
      },
      error => error
    )
    t.match(error, { name: 'DatabaseUnavailable', code: 'BACKEND_UNAVAILABLE', remedy: words })
    const reported = [
      error.message,
      error.stack,
      error.cause.stack,
      JSON.stringify(error),
      JSON.stringify(serializeError(error))
    ].join()
    for (const secret of [
      user,
      password,
      encodeURIComponent(password),
      'tops3cret',
      'stranger',
      'nowhere_to_be_found',
      '127.0.0.1',
      'no-such-host'
    ]) { t.notOk(reported.includes(secret), `${words} tells ${secret}`) }
  }
})

t.test('a command reports the same, and fails', async t => {
  let output = ''
  const environment = {
    CLINIGATE_DATA: t.testdir(),
    CONTROL_DATABASE_URL: modifyUrl(server.buildUrl('postgres'), url => {
      url.port = '1'
    })
  }
  const context = {
    environment,
    user: 'ann',
    now,
    out: () => {},
    err: (text: string) => {
      output += text
    },
    streams: process
  }
  t.equal(await run(['orgs', 'list'], context), 1)
  t.match(output, /^clinigate: PostgreSQL cannot be reached\. Check that it is running, .*CONTROL_DATABASE_URL/)
  t.notOk(output.includes(user))
})

t.test('with TLS the server\'s certificate is verified, and its host', async t => {
  const url = await server.createDatabase()
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    const database = await openDatabase({ file, url: `${url}?sslmode=${mode}&sslrootcert=${certificate}` })
    const { rows } = await sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`.execute(database.db)
    t.strictSame(rows, [{ ssl: true }])
    await database.close()
  }
  const elsewhere = modifyUrl(url, url => { url.hostname = 'localhost' })
  await t.rejects(openDatabase({ file, url: `${elsewhere}?sslmode=verify-ca&sslrootcert=${certificate}` }), {
    name: 'DatabaseUnavailable',
    cause: { message: /certificate.*ERR_TLS_CERT_ALTNAME_INVALID/ }
  })
})

t.test('the error for a rejected row repeats none of its values', async t => {
  const { db } = await openTestDatabase(t, await server.createDatabase())
  const row = { tenantId: 'org-hidden', name: 'Hidden', plan: 'pro', overage: 1, createdAt: 'then' }
  await db.insertInto('organizations').values(row).execute()
  for (const invalid of [row, { ...row, tenantId: 'org-hidden-2', name: null as never }]) {
    const error = await db
      .insertInto('organizations')
      .values(invalid)
      .execute()
      .then(
        () => {
          throw new Error('it was written')
        },
        error => error
      )
    t.match(error, { code: /^23/, table: 'organizations' })
    t.notMatch(JSON.stringify({ ...error, message: error.message }), /hidden/i)
  }
})

t.test(
  'a transaction whose connection breaks in the middle fails alone: the process goes on, and the next change succeeds',
  async t => {
    const url = await server.createDatabase()
    const store = await openControlStore({ file, url, plans: ['pro'], now })
    t.teardown(() => store.close())
    const { db } = await openTestDatabase(t, url)
    await t.rejects(
      db.transaction().execute(async trx => {
        const {
          rows: [row]
        } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(trx)
        await trx.updateTable('feed').set({ seq: 100 }).execute()
        await server.query('SELECT pg_terminate_backend($1)', [row!.pid])
        await pause(100)
        await trx.updateTable('feed').set({ seq: 200 }).execute()
      }),
      { name: 'DatabaseUnavailable' }
    )
    await store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
    t.match(await db.selectFrom('feed').select('seq').execute(), [{ seq: 1 }])
  }
)

t.test(
  'a process that hangs in the middle of a change does not hold back the others for long',
  { timeout: 300_000 },
  async t => {
    const url = await server.createDatabase()
    const store = await openControlStore({ file, url, plans: ['pro'], now })
    t.teardown(() => store.close())
    const { db } = await openTestDatabase(t, `${url}?idle_in_transaction_session_timeout=3000`)
    let signalHanging = () => {}
    const isHanging = new Promise<void>(resolve => {
      signalHanging = resolve
    })
    let goOn = () => {}
    const gone = new Promise<void>(resolve => {
      goOn = resolve
    })
    const hanging = db.transaction().execute(async trx => {
      await trx
        .updateTable('feed')
        .set(eb => ({ seq: eb.ref('seq') }))
        .execute()
      signalHanging()
      await gone
      await trx.updateTable('feed').set({ seq: 100 }).execute()
    })
    hanging.catch(() => {})
    await isHanging
    await store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
    goOn()
    t.match(await store.listChangesAfter({ feedId: '', seq: 0 }, 10), { through: 1 })
    await t.rejects(hanging, { name: 'DatabaseUnavailable' })
  }
)
