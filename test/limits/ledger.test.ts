import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { LedgerFile, readLedgerLines } from '../../src/limits/usage-ledger/file.js'
import type { UsageLedger } from '../../src/limits/usage-ledger/ledger.js'
import { toHour } from '../../src/limits/usage-ledger/tally.js'
import { linesPerBatch, type UsageBatch } from '../../src/limits/usage.js'
import { waitUntil } from '../harness/until.js'
import { buildUsageEvent, at, createLedgerPath, openLedger, recordAlike, countLedgerRequests } from './usage-samples.js'

const toAck = ({ number, batchId }: UsageBatch) => ({ number, batchId })
const nothing = { number: 0, batchId: '' }
const dayMs = 24 * 3_600_000

/** Records requests and sends them to a control plane that has everything so far. */
async function sendBatch (ledger: UsageLedger, requests: number): Promise<UsageBatch> {
  const batch = await formBatch(ledger, requests)
  await ledger.settle(toAck(batch))
  return batch
}

async function formBatch (ledger: UsageLedger, requests: number): Promise<UsageBatch> {
  recordAlike(ledger, at, requests)
  await ledger.flush()
  return (await ledger.nextBatch())!
}

t.test('requests are summed by hour and by their common attributes', async t => {
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file)
  ledger.record(buildUsageEvent(), at)
  ledger.record(buildUsageEvent(), '2030-01-01T10:59:59.999Z')
  ledger.record(buildUsageEvent(), '2030-01-01T11:00:00.000Z')
  await ledger.flush()
  recordAlike(ledger, '2030-01-01T10:00:00.000Z', 40)
  ledger.record(buildUsageEvent({ outcome: 'refused', isCounted: false }), at)
  await ledger.flush()
  t.strictSame(new Set(readLedgerLines(file)), new Set([
    { ...buildUsageEvent(), hour: '2030-01-01T10:00:00Z', count: 42, lastAt: '2030-01-01T10:59:59.999Z' },
    { ...buildUsageEvent(), hour: '2030-01-01T11:00:00Z', count: 1, lastAt: '2030-01-01T11:00:00.000Z' },
    { ...buildUsageEvent({ outcome: 'refused', isCounted: false }), hour: '2030-01-01T10:00:00Z', count: 1, lastAt: at }
  ]))
  t.match(ledger.check(), { status: 'ok', linesInMemory: 0, lostRequests: 0, broken: [] })
})

t.test('requests that differ in any attribute are counted separately', async t => {
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file)
  const others = [
    { keyId: 'key-b' },
    { resource: 'labs' },
    { interaction: 'search' },
    { outcome: 'error' },
    { isCounted: false },
    { isOverage: true }
  ] as const
  for (const other of [{}, ...others]) ledger.record(buildUsageEvent(other), at)
  await ledger.flush()
  t.equal(readLedgerLines(file).length, 1 + others.length)
  t.equal(new Set(readLedgerLines(file).map(line => JSON.stringify(line))).size, 1 + others.length)
})

t.test('a write that seemed to fail, and had succeeded, is not repeated', async t => {
  const file = createLedgerPath(t)
  const deposit = { name: 'one', lines: [{ ...buildUsageEvent(), hour: toHour(at), count: 3, lastAt: at }] }
  for (let i = 0; i < 2; i++) {
    const opened = new LedgerFile(file)
    opened.add(deposit)
    opened.close()
  }
  t.equal(countLedgerRequests(file), 3)
})

t.test('closing writes the counts that are in memory', async t => {
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file)
  for (let i = 0; i < 25_000; i++) ledger.record(buildUsageEvent({ keyId: `key-${i}` }), at)
  await ledger.close()
  t.equal(countLedgerRequests(file), 25_000)
})

t.test('a batch stays the same whenever it is read, until the control plane has it', async t => {
  const file = createLedgerPath(t)
  const first = openLedger(t, file)
  const batch = await formBatch(first, 3)
  t.match(batch, {
    ledgerId: /^[a-z2-7]{26}$/,
    number: 1,
    batchId: /^[a-z2-7]{26}$/,
    lines: [{ ...buildUsageEvent(), hour: toHour(at), count: 3, lastAt: at }]
  })
  t.strictSame(await formBatch(first, 4), batch, 'what came later is not in it')
  await first.close()
  const again = openLedger(t, file)
  t.strictSame(await again.nextBatch(), batch)
  await again.settle(toAck(batch))
  t.match(await again.nextBatch(), { ledgerId: batch.ledgerId, number: 2, lines: [{ count: 4 }] })
  await again.settle(toAck((await again.nextBatch())!))
  t.equal(await again.nextBatch(), undefined)
  t.equal(countLedgerRequests(file), 7, 'what was sent stays in the ledger')
})

t.test('a batch is bounded, and the rest is in the next one', async t => {
  const ledger = openLedger(t, createLedgerPath(t))
  for (let i = 0; i < linesPerBatch + 1; i++) ledger.record(buildUsageEvent({ keyId: `key-${i}` }), at)
  await ledger.flush()
  const batch = (await ledger.nextBatch())!
  t.equal(batch.lines.length, linesPerBatch)
  await ledger.settle(toAck(batch))
  t.equal((await ledger.nextBatch())!.lines.length, 1)
})

t.test('a control plane that was restored from a backup gets the same batches again that it no longer has', async t => {
  const ledger = openLedger(t, createLedgerPath(t))
  const [one, two, three] = [await sendBatch(ledger, 1), await sendBatch(ledger, 2), await sendBatch(ledger, 3)]
  const four = await formBatch(ledger, 4)
  t.equal(four.number, 4)
  await ledger.settle(toAck(one))
  for (const expected of [two, three, four]) {
    t.strictSame(await ledger.nextBatch(), expected)
    await ledger.settle(toAck(expected))
  }
  t.equal(await ledger.nextBatch(), undefined)
})

t.test('an empty control plane gets all batches again that are still stored', async t => {
  let now = Date.parse(at)
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file, { now: () => new Date(now) })
  const old = await sendBatch(ledger, 1)
  now += 4 * dayMs
  const stored = await sendBatch(ledger, 2)
  const { ledgerId } = stored
  await formBatch(ledger, 4)
  await ledger.settle(nothing)
  const first = (await ledger.nextBatch())!
  t.not(first.ledgerId, ledgerId, 'its batches have other numbers, so it is another series')
  t.strictSame(first, { ...stored, ledgerId: first.ledgerId, number: 1 })
  await ledger.settle(toAck(first))
  t.match(await ledger.nextBatch(), { ledgerId: first.ledgerId, number: 2, lines: [{ count: 4 }] })
  t.equal(countLedgerRequests(file), 7)
  t.not(old.batchId, first.batchId)
})

t.test(
  'a copy of a ledger counts for itself once the control plane reports that another one continues its series',
  async t => {
    const file = createLedgerPath(t)
    const ledger = openLedger(t, file)
    await sendBatch(ledger, 1)
    await ledger.close()
    copyFileSync(file, `${file}.copy`)
    const [original, copy] = [openLedger(t, file), openLedger(t, `${file}.copy`)]
    const taken = await sendBatch(original, 2)
    const refused = await formBatch(copy, 4)
    t.match(refused, { ledgerId: taken.ledgerId, number: taken.number })
    await copy.settle(toAck(taken))
    const own = (await copy.nextBatch())!
    t.strictSame(own, { ...refused, ledgerId: own.ledgerId, number: 1 })
    t.not(own.ledgerId, taken.ledgerId)
    await copy.settle(toAck(own))
    t.match(await formBatch(copy, 1), { ledgerId: own.ledgerId, number: 2 })
    t.match(await formBatch(original, 1), { ledgerId: taken.ledgerId, number: 3 })
  }
)

t.test('a ledger that started several series keeps everything of all of them', async t => {
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file)
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 3; i++) await sendBatch(ledger, 1)
    await formBatch(ledger, 1)
    await ledger.settle({ number: 99, batchId: 'of-another' })
    t.equal((await ledger.nextBatch())!.number, 1)
    await ledger.settle(toAck((await ledger.nextBatch())!))
  }
  t.equal(countLedgerRequests(file), 12)
  t.equal(await ledger.nextBatch(), undefined)
})

t.test('batches of long ago become hourly totals, and those of thirteen months ago are deleted', async t => {
  let now = Date.parse(at)
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file, { now: () => new Date(now) })
  for (let i = 0; i < 30; i++) await sendBatch(ledger, 1)
  now += 4 * dayMs
  await sendBatch(ledger, 1)
  await sendBatch(ledger, 1)
  t.strictSame(
    readLedgerLines(file)
      .map(({ count }) => count)
      .sort((a, b) => b - a),
    [30, 1, 1],
    'what remains of them is one line an hour'
  )
  now += 400 * dayMs
  recordAlike(ledger, new Date(now).toISOString(), 5)
  await ledger.flush()
  await ledger.settle(toAck((await ledger.nextBatch())!))
  await ledger.settle(nothing)
  t.equal(countLedgerRequests(file), 5)
})

t.test('a clock that jumps back loses nothing and counts nothing twice', async t => {
  const times = [
    '2030-01-01T10:59:59.000Z',
    '2030-01-01T11:00:01.000Z',
    '2029-12-31T23:00:00.000Z',
    '2030-01-01T10:00:00.000Z',
    '2001-01-01T00:00:00.000Z',
    '2030-01-01T11:00:02.000Z'
  ]
  const file = createLedgerPath(t)
  let now = at
  const ledger = openLedger(t, file, { now: () => new Date(now) })
  const batches: UsageBatch[] = []
  for (const time of times) {
    now = time
    recordAlike(ledger, time, 10)
    await ledger.flush()
    batches.push((await ledger.nextBatch())!)
    await ledger.settle(toAck(batches.at(-1)!))
  }
  t.strictSame(
    batches.flatMap(({ lines }) => lines).map(({ hour, count, lastAt }) => [hour, count, lastAt]),
    times.map(time => [toHour(time), 10, time])
  )
  t.same(batches.map(({ number }) => number), [1, 2, 3, 4, 5, 6])
  ledger.record(buildUsageEvent(), '2030-01-01T10:30:00.000Z')
  ledger.record(buildUsageEvent(), '2030-01-01T10:10:00.000Z')
  await ledger.flush()
  t.match(
    (await ledger.nextBatch())!.lines,
    [{ count: 2, lastAt: '2030-01-01T10:30:00.000Z' }],
    'the last use is never set back'
  )
})

t.test("a file that can't be opened loses no count, and is reported until it can", async t => {
  const file = createLedgerPath(t)
  mkdirSync(file)
  const ledger = openLedger(t, file)
  recordAlike(ledger, at, 3)
  await ledger.flush()
  recordAlike(ledger, at, 4)
  t.match(ledger.check(), { status: 'degraded', linesInMemory: 1, lostRequests: 0 })
  await t.rejects(ledger.nextBatch())
  rmdirSync(file)
  await ledger.flush()
  t.match(ledger.check(), { status: 'ok', linesInMemory: 0 })
  t.equal(countLedgerRequests(file), 7)
})

t.test('while the disk fails, memory is bounded, and the lost requests are reported', async t => {
  const file = createLedgerPath(t)
  mkdirSync(file)
  const ledger = openLedger(t, file, { maxLines: 100 })
  await ledger.opened
  for (let i = 0; i < 300; i++) ledger.record(buildUsageEvent({ keyId: `key-${i % 150}` }), at)
  t.match(ledger.check(), { status: 'degraded', linesInMemory: 100, lostRequests: 100 })
  rmdirSync(file)
  await ledger.flush()
  t.equal(countLedgerRequests(file), 200)
  t.match(ledger.check(), { status: 'degraded', lostRequests: 100 }, 'what is lost stays lost')
})

t.test('a hundred thousand organizations need no more memory than a few', async t => {
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file)
  for (let i = 0; i < 100_000; i++) {
    ledger.record(buildUsageEvent({ tenantId: `org-${i}`, keyId: `key-${i}` }), at)
    // It flushes by itself; its interval is an hour.
    if (i % 1_000 > 0) continue
    while (ledger.check().linesInMemory > 5_000) await pause(1)
  }
  await ledger.close()
  t.match(ledger.check(), { linesInMemory: 0, lostRequests: 0 })
  t.equal(countLedgerRequests(file), 100_000)
})

t.test(
  'the count of a month is known at every moment, also while it is written to disk, and never twice',
  async t => {
    const ledger = openLedger(t, createLedgerPath(t))
    const pool = { tenantId: 'org-a', mode: 'live' } as const
    for (let requests = 1; requests <= 30; requests++) {
      ledger.record(buildUsageEvent(), at)
      const written = ledger.flush().then(() => true)
      while (!(await Promise.race([written, new Promise(resolve => setImmediate(resolve, false))]))) {
        const { own } = ledger.getMonthCount(pool, '2030-01')
        if (own !== requests) t.fail('not what was counted', { own, requests })
      }
      t.equal(ledger.getMonthCount(pool, '2030-01').own, requests)
    }
  }
)

t.test('a disk that blocks the ledger blocks no request', async t => {
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file)
  await ledger.opened
  // As long as another process has locked the file, it can be read and not written.
  const other = new Database(file)
  other.exec('BEGIN IMMEDIATE')
  recordAlike(ledger, at, 7)
  // Once more where this process stood still for longer than the ledger waits, which gives up then.
  await waitUntil(async () => {
    const waiting = ledger.flush().then(() => true)
    let turns = 0
    while (turns < 100 && !await Promise.race([waiting, new Promise(resolve => setImmediate(resolve, false))])) turns++
    return turns === 100
  })
  t.equal(countLedgerRequests(file), 0)
  t.equal(ledger.getMonthCount({ tenantId: 'org-a', mode: 'live' }, '2030-01').own, 7)
  other.exec('COMMIT')
  other.close()
  await ledger.flush()
  t.match(ledger.check(), { status: 'ok', linesInMemory: 0 })
  t.equal(countLedgerRequests(file), 7)
})

t.test('a corrupt ledger is moved away whole, and counting continues in a new one', async t => {
  const createLedgerFile = async (t: Test) => {
    const file = createLedgerPath(t)
    const ledger = openLedger(t, file)
    for (let i = 0; i < 1_000; i++) ledger.record(buildUsageEvent({ keyId: `key-${i}` }), at)
    await ledger.close()
    return file
  }
  const breakings: Readonly<Record<string, (file: string) => void>> = {
    'is no database': file => writeFileSync(file, 'no database at all'.repeat(1_000)),
    'has lost its second half': file => truncateSync(file, 8_192),
    'is overwritten but for its first page': file => writeFileSync(file, readFileSync(file).fill(255, 4_096))
  }
  for (const [how, breakIt] of Object.entries(breakings)) {
    await t.test(how, async t => {
      const file = await createLedgerFile(t)
      breakIt(file)
      const broken = readFileSync(file)
      const ledger = openLedger(t, file)
      recordAlike(ledger, at, 5)
      await ledger.flush()
      await ledger.flush()
      const { status, broken: [aside], lostRequests, linesInMemory } = ledger.check()
      t.match({ status, lostRequests, linesInMemory }, { status: 'degraded', lostRequests: 0, linesInMemory: 0 })
      t.equal(countLedgerRequests(file), 5)
      t.equal((await ledger.nextBatch())!.number, 1)
      t.ok(readFileSync(`${dirname(file)}/${aside}`).equals(broken), 'nothing of it is thrown away')
      t.match(readdirSync(dirname(file)), new Set([basename(file), aside]))
    })
  }
})
