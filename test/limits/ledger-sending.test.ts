import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import type { UsageLedger } from '../../src/limits/usage-ledger/ledger.js'
import { linesPerBatch, type SendUsage, type UsageAck, type UsageBatch, type UsageLine } from '../../src/limits/usage.js'
import { BatchSender } from '../../src/control-plane/outbox/sender.js'
import { waitUntil } from '../harness/until.js'
import { buildUsageEvent, at, createLedgerPath, openLedger, countLedgerRequests } from './usage-samples.js'

const log = { info () {}, warn () {} }

/** A real control plane, and how many requests were reported to it. */
async function openControlPlane (t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-control-'))
  const store = await openControlStore({ file: join(directory, 'control.db'), plans: [], now: () => new Date(at) })
  t.teardown(async () => {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const send: SendUsage = batch => store.usage.apply(batch, 'one')
  const countRequests = async () =>
    (await store.usage.sumUsage({ tenantId: 'org-a', from: new Date('2030-01-01'), to: new Date('2030-01-02') }))
      .totals[0]!.requests
  return { send, countRequests }
}

function startSender (
  t: Test, ledger: UsageLedger, send: SendUsage, timeoutMs = 10_000
): BatchSender<UsageLine, UsageAck> {
  const sender = new BatchSender({ what: 'usage', linesPerBatch, ledger, send, log, everyMs: 1, timeoutMs })
  t.teardown(() => sender.stop())
  return sender
}

async function count (ledger: UsageLedger, requests = 1): Promise<void> {
  for (let i = 0; i < requests; i++) ledger.record(buildUsageEvent({ keyId: `key-${i % 7}` }), at)
  await ledger.flush()
}

t.test('every counted request reaches the control plane, once', async t => {
  const { send, countRequests } = await openControlPlane(t)
  const file = createLedgerPath(t)
  const ledger = openLedger(t, file)
  startSender(t, ledger, send)
  for (let i = 1; i <= 20; i++) {
    await count(ledger, i)
    await pause(3)
  }
  await waitUntil(async () => await ledger.nextBatch() === undefined)
  t.equal(await countRequests(), 210)
  t.equal(countLedgerRequests(file), 210)
})

t.test(
  'while the control plane is down, one batch is retried again and again; then all of them arrive',
  async t => {
    const { send, countRequests } = await openControlPlane(t)
    const ledger = openLedger(t, createLedgerPath(t))
    let isAway = true
    const tried: UsageBatch[] = []
    const sender = startSender(t, ledger, async (batch, signal) => {
      tried.push(batch)
      if (isAway) throw new Error('the control plane is away')
      return await send(batch, signal)
    })
    await count(ledger, 3)
    await waitUntil(() => sender.failures >= 2)
    await count(ledger, 4)
    t.ok(tried.length >= 2)
    t.same(
      tried,
      tried.map(() => tried[0])
    )
    t.equal(await countRequests(), 0)
    isAway = false
    await waitUntil(async () => (await ledger.nextBatch()) === undefined)
    t.equal(sender.failures, 0)
    t.equal(await countRequests(), 7)
  }
)

t.test('a batch whose receipt is lost is sent again and applied once', async t => {
  const { send, countRequests } = await openControlPlane(t)
  const ledger = openLedger(t, createLedgerPath(t))
  let losses = 0
  startSender(t, ledger, async (batch, signal) => {
    const receipt = await send(batch, signal)
    if (losses++ < 2) throw new Error('the connection broke')
    return receipt
  })
  await count(ledger, 5)
  await waitUntil(async () => await ledger.nextBatch() === undefined)
  t.equal(losses, 3)
  t.equal(await countRequests(), 5)
})

t.test('a control plane that does not respond is given up after a timeout, and the batch is sent again', async t => {
  const { send, countRequests } = await openControlPlane(t)
  const ledger = openLedger(t, createLedgerPath(t))
  let isSilent = true
  startSender(t, ledger, async (batch, signal) => {
    if (!isSilent) return await send(batch, signal)
    isSilent = false
    return await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }, 50)
  await count(ledger)
  await waitUntil(async () => await ledger.nextBatch() === undefined)
  t.equal(await countRequests(), 1)
})

t.test(
  'stopping aborts a request under way; batches that were not acknowledged are sent by the next process, once',
  async t => {
    const { send, countRequests } = await openControlPlane(t)
    const file = createLedgerPath(t)
    const ledger = openLedger(t, file)
    let isApplied = false
    const sender = startSender(t, ledger, async (batch, signal) => {
      await send(batch, signal)
      isApplied = true
      return await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    await count(ledger, 3)
    await waitUntil(() => isApplied)
    await sender.stop()
    await count(ledger, 4)
    await ledger.close()
    const next = openLedger(t, file)
    startSender(t, next, send)
    await waitUntil(async () => (await next.nextBatch()) === undefined)
    t.equal(await countRequests(), 7)
  }
)

t.test(
  'with two concurrent senders of the same ledger, one of them late, nothing is counted twice and nothing is lost',
  async t => {
    const { send, countRequests } = await openControlPlane(t)
    const file = createLedgerPath(t)
    const [one, other] = [openLedger(t, file), openLedger(t, file)]
    let delayedBatch: UsageBatch | undefined
    startSender(t, one, send)
    startSender(t, other, async (batch, signal) => {
      delayedBatch ??= batch
      await pause(Math.random() * 10)
      return await send(batch, signal)
    })
    for (let i = 0; i < 30; i++) {
      await count(one, 2)
      await count(other, 1)
      await pause(2)
    }
    // A process that finds the file locked by the other one for too long retries later.
    await waitUntil(async () => {
      for (const ledger of [one, other]) await ledger.flush()
      return (
        [one, other].every(ledger => ledger.check().linesInMemory === 0) &&
        (await one.nextBatch().catch(() => 'taken')) === undefined
      )
    })
    t.equal(await countRequests(), 90)
    if (delayedBatch !== undefined) await send(delayedBatch, AbortSignal.abort())
    t.equal(await countRequests(), 90)
    t.equal(countLedgerRequests(file), 90)
  }
)

t.test('the control plane detects a copied ledger, and both go on with nothing lost', async t => {
  const { send, countRequests } = await openControlPlane(t)
  const file = createLedgerPath(t)
  const first = openLedger(t, file)
  await count(first, 1)
  await first.settle(await send((await first.nextBatch())!, new AbortController().signal))
  await first.close()
  copyFileSync(file, `${file}.copy`)
  const ledgers = [openLedger(t, file), openLedger(t, `${file}.copy`)]
  for (const ledger of ledgers) startSender(t, ledger, send)
  for (let i = 0; i < 10; i++) {
    for (const ledger of ledgers) await count(ledger, 1)
    await pause(5)
  }
  for (const ledger of ledgers) await waitUntil(async () => await ledger.nextBatch() === undefined)
  t.equal(await countRequests(), 21)
})
