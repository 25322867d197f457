import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import t, { type Test } from 'tap'
import { LedgerFile, ledgerLines } from '../../src/limits/ledger-file.js'
import type { UsageLedger } from '../../src/limits/ledger.js'
import { hourOf } from '../../src/limits/tally.js'
import { linesPerBatch, type UsageBatch } from '../../src/limits/usage.js'
import { aUse, at, ledgerPlace, openLedger, requestsIn } from './usage-samples.js'

const receiptFor = ({ number, batchId }: UsageBatch) => ({ number, batchId })
const nothing = { number: 0, batchId: '' }
const dayMs = 24 * 3_600_000

/** Records requests and gives them to a control plane that has everything so far. */
function sent (ledger: UsageLedger, requests: number): UsageBatch {
  const batch = formed(ledger, requests)
  ledger.settle(receiptFor(batch))
  return batch
}

function formed (ledger: UsageLedger, requests: number): UsageBatch {
  ledger.record(aUse(), at, requests)
  ledger.flush()
  return ledger.nextBatch()!
}

t.test('requests are added up by hour and by what they have in common', async t => {
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file)
  ledger.record(aUse(), at)
  ledger.record(aUse(), '2030-01-01T10:59:59.999Z')
  ledger.record(aUse(), '2030-01-01T11:00:00.000Z')
  ledger.flush()
  ledger.record(aUse(), '2030-01-01T10:00:00.000Z', 40)
  ledger.record(aUse({ outcome: 'refused', isCounted: false }), at)
  ledger.flush()
  t.strictSame(new Set(ledgerLines(file)), new Set([
    { ...aUse(), hour: '2030-01-01T10:00:00Z', count: 42, lastAt: '2030-01-01T10:59:59.999Z' },
    { ...aUse(), hour: '2030-01-01T11:00:00Z', count: 1, lastAt: '2030-01-01T11:00:00.000Z' },
    { ...aUse({ outcome: 'refused', isCounted: false }), hour: '2030-01-01T10:00:00Z', count: 1, lastAt: at }
  ]))
  t.match(ledger.check(), { status: 'ok', linesInMemory: 0, lostRequests: 0, broken: [] })
})

t.test('what differs in anything is counted apart', async t => {
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file)
  const others = [{ keyId: 'key-b' }, { resource: 'labs' }, { interaction: 'search' }, { outcome: 'error' }, { isCounted: false }, { isOverage: true }] as const
  for (const other of [{}, ...others]) ledger.record(aUse(other), at)
  ledger.flush()
  t.equal(ledgerLines(file).length, 1 + others.length)
  t.equal(new Set(ledgerLines(file).map(line => JSON.stringify(line))).size, 1 + others.length)
})

t.test('a writing that seemed to fail, and had not, is not repeated', async t => {
  const file = ledgerPlace(t)
  const deposit = { name: 'one', lines: [{ ...aUse(), hour: hourOf(at), count: 3, lastAt: at }] }
  for (let i = 0; i < 2; i++) {
    const opened = new LedgerFile(file)
    opened.add(deposit)
    opened.close()
  }
  t.equal(requestsIn(file), 3)
})

t.test('closing writes what is in memory', async t => {
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file)
  for (let i = 0; i < 25_000; i++) ledger.record(aUse({ keyId: `key-${i}` }), at)
  ledger.close()
  t.equal(requestsIn(file), 25_000)
})

t.test('a batch is the same whenever it is asked for, until the control plane has it', async t => {
  const file = ledgerPlace(t)
  const first = openLedger(t, file)
  const batch = formed(first, 3)
  t.match(batch, { ledgerId: /^[a-z2-7]{26}$/, number: 1, batchId: /^[a-z2-7]{26}$/, lines: [{ ...aUse(), hour: hourOf(at), count: 3, lastAt: at }] })
  t.strictSame(formed(first, 4), batch, 'what came later is not in it')
  first.close()
  const again = openLedger(t, file)
  t.strictSame(again.nextBatch(), batch)
  again.settle(receiptFor(batch))
  t.match(again.nextBatch(), { ledgerId: batch.ledgerId, number: 2, lines: [{ count: 4 }] })
  again.settle(receiptFor(again.nextBatch()!))
  t.equal(again.nextBatch(), undefined)
  t.equal(requestsIn(file), 7, 'what was sent stays in the ledger')
})

t.test('a batch is bounded, and the rest comes in the next one', async t => {
  const ledger = openLedger(t, ledgerPlace(t))
  for (let i = 0; i < linesPerBatch + 1; i++) ledger.record(aUse({ keyId: `key-${i}` }), at)
  ledger.flush()
  const batch = ledger.nextBatch()!
  t.equal(batch.lines.length, linesPerBatch)
  ledger.settle(receiptFor(batch))
  t.equal(ledger.nextBatch()!.lines.length, 1)
})

t.test('a control plane that was restored from a backup gets again what it has no longer, and the same', async t => {
  const ledger = openLedger(t, ledgerPlace(t))
  const [one, two, three] = [sent(ledger, 1), sent(ledger, 2), sent(ledger, 3)]
  const four = formed(ledger, 4)
  t.equal(four.number, 4)
  ledger.settle(receiptFor(one))
  for (const expected of [two, three, four]) {
    t.strictSame(ledger.nextBatch(), expected)
    ledger.settle(receiptFor(expected))
  }
  t.equal(ledger.nextBatch(), undefined)
})

t.test('an empty control plane gets everything again that is still kept as batches', async t => {
  let now = Date.parse(at)
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file, { now: () => new Date(now) })
  const old = sent(ledger, 1)
  now += 4 * dayMs
  const kept = sent(ledger, 2)
  const { ledgerId } = kept
  formed(ledger, 4)
  ledger.settle(nothing)
  const first = ledger.nextBatch()!
  t.not(first.ledgerId, ledgerId, 'its batches have other numbers, so it is another series')
  t.strictSame(first, { ...kept, ledgerId: first.ledgerId, number: 1 })
  ledger.settle(receiptFor(first))
  t.match(ledger.nextBatch(), { ledgerId: first.ledgerId, number: 2, lines: [{ count: 4 }] })
  t.equal(requestsIn(file), 7)
  t.not(old.batchId, first.batchId)
})

t.test('a copy of a ledger counts for itself once the control plane shows that another one goes on with its series', async t => {
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file)
  sent(ledger, 1)
  ledger.close()
  copyFileSync(file, `${file}.copy`)
  const [original, copy] = [openLedger(t, file), openLedger(t, `${file}.copy`)]
  const taken = sent(original, 2)
  const refused = formed(copy, 4)
  t.match(refused, { ledgerId: taken.ledgerId, number: taken.number })
  copy.settle(receiptFor(taken))
  const own = copy.nextBatch()!
  t.strictSame(own, { ...refused, ledgerId: own.ledgerId, number: 1 })
  t.not(own.ledgerId, taken.ledgerId)
  copy.settle(receiptFor(own))
  t.match(formed(copy, 1), { ledgerId: own.ledgerId, number: 2 })
  t.match(formed(original, 1), { ledgerId: taken.ledgerId, number: 3 })
})

t.test('a ledger that began several series keeps everything of all of them', async t => {
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file)
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 3; i++) sent(ledger, 1)
    formed(ledger, 1)
    ledger.settle({ number: 99, batchId: 'of-another' })
    t.equal(ledger.nextBatch()!.number, 1)
    ledger.settle(receiptFor(ledger.nextBatch()!))
  }
  t.equal(requestsIn(file), 12)
  t.equal(ledger.nextBatch(), undefined)
})

t.test('batches of long ago become hourly totals, and those of thirteen months ago go', async t => {
  let now = Date.parse(at)
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file, { now: () => new Date(now) })
  for (let i = 0; i < 30; i++) sent(ledger, 1)
  now += 4 * dayMs
  sent(ledger, 1)
  sent(ledger, 1)
  t.strictSame(ledgerLines(file).map(({ count }) => count).sort((a, b) => b - a), [30, 1, 1], 'what remains of them is one line an hour')
  now += 400 * dayMs
  ledger.record(aUse(), new Date(now).toISOString(), 5)
  ledger.flush()
  ledger.settle(receiptFor(ledger.nextBatch()!))
  ledger.settle(nothing)
  t.equal(requestsIn(file), 5)
})

t.test('a clock that jumps back loses nothing and counts nothing twice', async t => {
  const times = ['2030-01-01T10:59:59.000Z', '2030-01-01T11:00:01.000Z', '2029-12-31T23:00:00.000Z', '2030-01-01T10:00:00.000Z', '2001-01-01T00:00:00.000Z', '2030-01-01T11:00:02.000Z']
  const file = ledgerPlace(t)
  let now = at
  const ledger = openLedger(t, file, { now: () => new Date(now) })
  const batches: UsageBatch[] = []
  for (const time of times) {
    now = time
    ledger.record(aUse(), time, 10)
    ledger.flush()
    batches.push(ledger.nextBatch()!)
    ledger.settle(receiptFor(batches.at(-1)!))
  }
  t.strictSame(batches.flatMap(({ lines }) => lines).map(({ hour, count, lastAt }) => [hour, count, lastAt]), times.map(time => [hourOf(time), 10, time]))
  t.same(batches.map(({ number }) => number), [1, 2, 3, 4, 5, 6])
  ledger.record(aUse(), '2030-01-01T10:30:00.000Z')
  ledger.record(aUse(), '2030-01-01T10:10:00.000Z')
  ledger.flush()
  t.match(ledger.nextBatch()!.lines, [{ count: 2, lastAt: '2030-01-01T10:30:00.000Z' }], 'the last use is never set back')
})

t.test('a file that can\'t be opened costs no count, and shows until it can', async t => {
  const file = ledgerPlace(t)
  mkdirSync(file)
  const ledger = openLedger(t, file)
  ledger.record(aUse(), at, 3)
  ledger.flush()
  ledger.record(aUse(), at, 4)
  t.match(ledger.check(), { status: 'degraded', linesInMemory: 1, lostRequests: 0 })
  t.throws(() => ledger.nextBatch())
  rmdirSync(file)
  ledger.flush()
  t.match(ledger.check(), { status: 'ok', linesInMemory: 0 })
  t.equal(requestsIn(file), 7)
})

t.test('while the disk fails, memory is bounded, and what found no room in it is told', async t => {
  const file = ledgerPlace(t)
  mkdirSync(file)
  const ledger = openLedger(t, file, { mostLines: 100 })
  for (let i = 0; i < 300; i++) ledger.record(aUse({ keyId: `key-${i % 150}` }), at)
  t.match(ledger.check(), { status: 'degraded', linesInMemory: 100, lostRequests: 100 })
  rmdirSync(file)
  ledger.flush()
  t.equal(requestsIn(file), 200)
  t.match(ledger.check(), { status: 'degraded', lostRequests: 100 }, 'what is lost stays lost')
})

t.test('a hundred thousand organizations need no more memory than a few', async t => {
  const file = ledgerPlace(t)
  const ledger = openLedger(t, file)
  let most = 0
  for (let i = 0; i < 100_000; i++) {
    ledger.record(aUse({ tenantId: `org-${i}`, keyId: `key-${i}` }), at)
    if (i % 1_000 === 999) most = Math.max(most, ledger.check().linesInMemory)
  }
  t.ok(most < 6_000, `at most ${most} lines in memory`)
  ledger.close()
  t.equal(requestsIn(file), 100_000)
})

t.test('a ledger that is broken is set aside whole, and counting goes on in a new one', async t => {
  const whole = (t: Test) => {
    const file = ledgerPlace(t)
    const ledger = openLedger(t, file)
    for (let i = 0; i < 1_000; i++) ledger.record(aUse({ keyId: `key-${i}` }), at)
    ledger.close()
    return file
  }
  const breakings: Readonly<Record<string, (file: string) => void>> = {
    'is no database': file => writeFileSync(file, 'no database at all'.repeat(1_000)),
    'has lost its second half': file => truncateSync(file, 8_192),
    'is overwritten but for its first page': file => writeFileSync(file, readFileSync(file).fill(255, 4_096))
  }
  for (const [how, breakIt] of Object.entries(breakings)) {
    await t.test(how, async t => {
      const file = whole(t)
      breakIt(file)
      const broken = readFileSync(file)
      const ledger = openLedger(t, file)
      ledger.record(aUse(), at, 5)
      ledger.flush()
      ledger.flush()
      const { status, broken: [aside], lostRequests, linesInMemory } = ledger.check()
      t.match({ status, lostRequests, linesInMemory }, { status: 'degraded', lostRequests: 0, linesInMemory: 0 })
      t.equal(requestsIn(file), 5)
      t.equal(ledger.nextBatch()!.number, 1)
      t.ok(readFileSync(`${dirname(file)}/${aside}`).equals(broken), 'nothing of it is thrown away')
      t.match(readdirSync(dirname(file)), new Set([basename(file), aside]))
    })
  }
})
