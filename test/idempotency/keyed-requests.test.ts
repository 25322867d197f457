import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { digest, computeFingerprint, computeRequestName, type IdempotentRequest } from '../../src/idempotency/digest.js'
import { readIdempotencyKey } from '../../src/idempotency/header.js'
import { IdempotencyStore, type IdempotencyClaim } from '../../src/idempotency/keyed-requests.js'
import { RequestFile } from '../../src/idempotency/request-file.js'
import { ExactNumber } from '../../src/json/json.js'
import { catchFailure } from '../tenant-guard/guarded.js'

const hourMs = 3_600_000
const request: IdempotentRequest = {
  tenantId: 't',
  mode: 'test',
  key: 'patient-4711-secret',
  method: 'POST',
  route: 'patients',
  body: { lastName: 'Byron-secret' }
}

function openStore (t: Test, prepare: (file: string) => void = () => {}) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-keyed-'))
  const clock = { ms: Date.parse('2026-03-14T12:00:00Z') }
  const file = join(directory, 'idempotency.db')
  prepare(file)
  const now = () => new Date(clock.ms)
  const open = (): IdempotencyStore => new IdempotencyStore({ storage: new RequestFile({ file, now }), now })
  let requests = open()
  t.after(() => {
    requests.close()
    rmSync(directory, { recursive: true })
  })
  return {
    clock,
    claimed: async <T>(work: (claim: IdempotencyClaim) => Promise<T> | T, changes: Partial<IdempotentRequest> = {}) => {
      await using claim = await requests.claim({ ...request, ...changes })
      return await work(claim)
    },
    reopen: () => {
      requests.close()
      requests = open()
    },
    /**
     * From now on SQLite refuses to write such rows, as on a full disk; returns a function that lets it write again.
     */
    refuse: (what: 'INSERT' | 'UPDATE') => {
      const execute = (sql: string) => {
        const database = new Database(file)
        database.exec(sql)
        database.close()
      }
      execute(`CREATE TRIGGER refused BEFORE ${what} ON keyed_request BEGIN SELECT RAISE(ABORT, 'no room'); END`)
      return () => execute('DROP TRIGGER refused')
    },
    rows: () => {
      const database = new Database(file, { readonly: true })
      const count = database.prepare('SELECT count(*) FROM keyed_request').pluck().get()
      database.close()
      return count
    },
    bytes: () =>
      readdirSync(directory)
        .map(name => readFileSync(join(directory, name), 'latin1'))
        .join('')
  }
}

t.test('a file of an earlier version keeps its requests, and a later one is rejected', async t => {
  const columns = `name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, first_seen_at INTEGER NOT NULL,
    intent_version TEXT, intent_content TEXT, result_id TEXT, result_version TEXT`
  for (const more of ['', ', result_warnings TEXT']) {
    const { claimed, rows } = openStore(t, file => {
      const database = new Database(file)
      database.exec(`CREATE TABLE keyed_request (${columns}${more}) STRICT, WITHOUT ROWID; PRAGMA user_version = 1;
        CREATE INDEX keyed_request_by_age ON keyed_request (first_seen_at)`)
      const seenAt = Date.parse('2026-03-14T11:00:00Z')
      database
        .prepare('INSERT INTO keyed_request (name, fingerprint, first_seen_at, result_id) VALUES (?, ?, ?, ?)')
        .run(computeRequestName(request), computeFingerprint(request), seenAt, '7')
      database.close()
    })
    await claimed(claim => t.strictSame([claim.result, rows()], [{ id: '7' }, 1]))
    const warnings = [{ severity: 'warning', code: 'informational', diagnostics: 'lost' }] as const
    await claimed(claim => claim.finish({ id: '8', warnings }), { key: 'new' })
    await claimed(claim => t.strictSame(claim.result, { id: '8', warnings }), { key: 'new' })
  }
  const writeLaterVersion = (file: string): void => {
    const database = new Database(file)
    database.pragma('user_version = 99')
    database.close()
  }
  t.throws(() => openStore(t, writeLaterVersion), { name: 'SchemaVersionError', message: /version 99/ })
})

t.test('the recorded state of a request survives the process', async t => {
  const { claimed, reopen } = openStore(t)
  await claimed(async claim => {
    t.strictSame([claim.result, claim.intent], [undefined, undefined])
    await claim.intend({ version: '3', content: claim.digestOf({ a: 1 }) })
  })
  reopen()
  await claimed(async claim => {
    t.strictSame(claim.intent, { version: '3', content: claim.digestOf({ a: 1 }) })
    await claim.intend(undefined)
  })
  reopen()
  await claimed(async claim => {
    t.equal(claim.intent, undefined)
    await claim.finish({ id: '7', version: '4' })
  })
  reopen()
  await claimed(claim =>
    t.strictSame(
      [claim.result, claim.firstSeenAt.toISOString()],
      [{ id: '7', version: '4' }, '2026-03-14T12:00:00.000Z']
    )
  )
  await claimed(claim => claim.finish({ id: '8' }), { key: 'unversioned' })
  await claimed(claim => t.strictSame(claim.result, { id: '8' }), { key: 'unversioned' })
})

t.test('a claim is released however the work ends', async t => {
  const { claimed } = openStore(t)
  await t.rejects(claimed(() => { throw new Error('broken') }), { message: 'broken' })
  await claimed(async () => {
    t.equal((await catchFailure(claimed(() => t.fail('performed twice')))).code, 'CONFLICT')
    t.equal((await catchFailure(claimed(() => t.fail('performed'), { body: 1 }))).code, 'IDEMPOTENCY_KEY_REUSED')
    await claimed(() => t.pass('another tenant'), { tenantId: 'u' })
    await claimed(() => t.pass('the other mode'), { mode: 'live' })
  })
  await claimed(() => t.pass('again'))
})

t.test('a request is forgotten after 24 hours, and expired ones do not accumulate', async t => {
  const { clock, claimed, rows, reopen } = openStore(t)
  for (let number = 0; number < 50; number++) {
    await claimed(claim => claim.finish({ id: '1' }), { key: `old-${number}` })
  }
  clock.ms += 24 * hourMs - 1
  await claimed(claim => t.ok(claim.result), { key: 'old-0' })
  t.equal(rows(), 50)
  clock.ms += 1
  await claimed(claim => t.strictSame([claim.result, claim.firstSeenAt.getTime()], [undefined, clock.ms]), {
    key: 'old-49',
    body: 'another'
  })
  t.ok(Number(rows()) < 50, 'some go with each new one')
  for (let number = 0; number < 3; number++) await claimed(() => {}, { key: `new-${number}` })
  t.equal(rows(), 4)
  clock.ms += 24 * hourMs
  reopen()
  t.equal(rows(), 0, 'all go at the start')
})

t.test('neither a key nor anything of a record is stored', async t => {
  const { claimed, bytes } = openStore(t)
  await claimed(claim => claim.intend({ version: '1', content: claim.digestOf({ name: 'Byron-secret' }) }))
  t.notMatch(bytes(), 'secret')
  await claimed(claim => t.not(claim.digestOf({ a: 1 }), digest('content', 'guess', { a: 1 })), { key: 'another' })
})

t.test('two requests are equal when everything that determines their effect is equal', async t => {
  const hasSameFingerprint = (changes: Partial<IdempotentRequest>): boolean =>
    computeFingerprint({ ...request, ...changes }) === computeFingerprint(request)
  t.ok(hasSameFingerprint({ body: { lastName: 'Byron-secret' } }))
  for (const changes of [
    { method: 'PATCH' },
    { route: 'persons' },
    { id: '1' },
    { ifMatch: 'W/"1"' },
    { key: 'x' },
    { body: { lastName: 'X' } },
    { body: [request.body] },
    { body: undefined }
  ]) { t.notOk(hasSameFingerprint(changes)) }
  const numbers = ['1', '1.0', '1.00', '1e0'].map(text => digest({ value: new ExactNumber(text) }))
  t.equal(new Set(numbers).size, 4, 'numbers count by their text')
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.infiniteStream(fc.integer()), (body, random) => {
    const shuffled = Object.fromEntries(
      Object.entries(body)
        .map(entry => [random.next().value, entry] as const)
        .sort(([a], [b]) => a - b)
        .map(([, entry]) => entry)
    )
    return digest(body) === digest(shuffled)
  }))
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.jsonValue(),
      (a, b) => (digest(a) === digest(b)) === isDeepStrictEqual(roundTripJson(a), roundTripJson(b))
    )
  )
})

t.test('a key is one header', async t => {
  t.equal(readIdempotencyKey(['Host', 'x', 'IDEMPOTENCY-key', 'abc']), 'abc')
  t.equal(readIdempotencyKey(['X-Other', 'Idempotency-Key']), undefined)
  for (const headers of [
    ['idempotency-key', ''],
    ['idempotency-key', 'a', 'Idempotency-Key', 'a'],
    ['idempotency-key', 'a\tb'],
    ['idempotency-key', 'é']
  ]) {
    t.throws(() => readIdempotencyKey(headers), { code: 'BAD_REQUEST' })
  }
})

const roundTripJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

t.test(
  'while nothing can be recorded nothing is done and the message says so, and a finished request still gets its response',
  async t => {
    const { claimed, refuse } = openStore(t)
    const nothing = { code: 'BACKEND_UNAVAILABLE', message: /^Nothing was done/, headers: { 'retry-after': '5' } }
    const letInsert = refuse('INSERT')
    t.match(await catchFailure(claimed(() => t.fail('it is not performed'))), nothing)
    letInsert()
    const letUpdate = refuse('UPDATE')
    t.match(await catchFailure(claimed(claim => claim.intend({ version: '1', content: 'c' }))), nothing)
    t.equal(
      await claimed(async claim => {
        await claim.finish({ id: '7' })
        return 'answered'
      }),
      'answered'
    )
    letUpdate()
    await claimed(async claim => {
      t.strictSame([claim.result, claim.intent], [undefined, undefined])
      await claim.finish({ id: '7' })
    })
    await claimed(claim => t.strictSame(claim.result, { id: '7' }))
  }
)
