/** `npx tap --timeout=3600 test/limits/ledger-crash.test.ts --test-arg=--kills=200` ends the process more often. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { linesPerBatch } from '../../src/limits/usage.js'
import { BatchSender } from '../../src/control-plane/outbox/sender.js'
import { waitUntil } from '../harness/until.js'
import { openLedger, countLedgerRequests } from './usage-samples.js'

const kills = Number(process.argv.find(arg => arg.startsWith('--kills='))?.slice('--kills='.length) ?? 4)

function createFolder (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-crash-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a process that counts; resolves when it counts. */
async function startCounting (t: Test, folder: string, ...args: string[]): Promise<ChildProcess> {
  rmSync(join(folder, 'said'), { force: true })
  const child = spawn(
    process.execPath,
    [...process.execArgv, join(import.meta.dirname, 'ledger-recorder.ts'), folder, ...args],
    { stdio: ['ignore', 'ignore', 'inherit'] }
  )
  t.teardown(() => child.kill('SIGKILL'))
  while (!existsSync(join(folder, 'said'))) {
    if (child.exitCode !== null) throw new Error('the process that counts has ended')
    await pause(5)
  }
  return child
}

async function kill (child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

interface CountReport { readonly what: string, readonly count: number, readonly time: number }

function readReports (folder: string): readonly CountReport[] {
  // A line that was being written when the process ended or the disk was full is no complete line.
  return [...readFileSync(join(folder, 'said'), 'utf8').matchAll(/^(\S+) (\d+) ([\d.]+);$/gm)].map(
    ([, what, count, time]) => ({ what: what!, count: Number(count), time: Number(time) })
  )
}

/** How many requests were counted, or started. */
const maxReported = (folder: string, what: '>' | '<') =>
  Math.max(
    ...readReports(folder)
      .filter(line => line.what === what)
      .map(({ count }) => count),
    0
  )

/**
 * Resolves when everything counted so far was written to disk, where other processes wrote `before` requests; with the
 * number.
 */
async function onDisk (folder: string, before = 0): Promise<number> {
  while (maxReported(folder, '>') === 0) await pause(5)
  const counted = maxReported(folder, '>')
  while (countLedgerRequests(join(folder, 'usage.db')) - before < counted) await pause(20)
  return counted
}

t.test(
  `of ${kills} processes that are killed while they count and send, nothing is lost that was not about to be written, and nothing is counted twice`,
  { timeout: 300_000 + kills * 15_000 },
  async t => {
    const folder = createFolder(t)
    const file = join(folder, 'usage.db')
    let before = 0
    for (let i = 0; i < kills; i++) {
      const child = await startCounting(t, folder, 'sends')
      const least = await onDisk(folder, before)
      await pause(Math.random() * 1_000)
      await kill(child)
      const begun = maxReported(folder, '<')
      const held = countLedgerRequests(file)
      if (held - before < least || held - before > begun) {
        t.fail('the ledger holds what it must', { held: held - before, least, begun })
      }
      before = held
    }
    t.ok(before > 0)

    const control = await openControlStore({ file: join(folder, 'control.db'), plans: [], now: () => new Date() })
    t.teardown(() => control.close())
    const countReceived = async () =>
      (await control.usage.sumUsage({ tenantId: 'org-a', from: new Date('2020-01-01'), to: new Date('2100-01-01') }))
        .totals[0]!.requests
    const atRest = await countReceived()
    t.ok(atRest > 0 && atRest <= before, 'the control plane never has more than the ledger')
    const ledger = openLedger(t, file)
    const sender = new BatchSender({
      what: 'usage',
      linesPerBatch,
      ledger,
      send: batch => control.usage.apply(batch, 'one'),
      log: { info () {}, warn () {} },
      everyMs: 1
    })
    while ((await ledger.nextBatch()) !== undefined) await pause(20)
    await sender.stop()
    t.equal(await countReceived(), before, 'a later process sends the rest, and both agree to the last request')
  }
)

t.test('a full disk stops no counting, and once there is room every count is written', { timeout: 300_000 }, async t => {
  const folder = createFolder(t)
  const child = await startCounting(t, folder)
  // No file of the process may grow beyond this any more, as on a full disk.
  const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`])
  limit('4096')
  const file = join(folder, 'usage.db')
  const log = join(folder, 'log')
  const isLogged = () => existsSync(log) && /the usage ledger cannot be written|SQLITE_/.test(readFileSync(log, 'utf8'))
  // From then on it can neither write its counts nor report it.
  await waitUntil(() => isLogged() && statSync(join(folder, 'said')).size >= 4_096)
  await pause(1_000)
  const held = countLedgerRequests(file)
  await pause(1_000)
  t.equal(countLedgerRequests(file), held, 'nothing can be written')
  limit('unlimited')
  while (
    readReports(folder).findLast(({ what }) => what === 'ok' || what === 'degraded')?.what !== 'ok' ||
    countLedgerRequests(file) === held
  ) { await pause(50) }
  const least = await onDisk(folder)
  await kill(child)
  t.ok(least > held)
  const inEnd = countLedgerRequests(file)
  const begun = maxReported(folder, '<')
  t.ok(inEnd >= least && inEnd <= begun, 'nothing is missing or counted twice', { inEnd, least, begun })
  t.ok(
    readReports(folder).some(
      ({ count, time }, i, all) => count > (all[i - 1]?.count ?? 0) + 500 && time > (all[i - 1]?.time ?? 0) + 1_000
    ),
    'it counted all the while, though it could not say so'
  )
})
