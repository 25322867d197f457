import { once } from 'node:events'
import t, { type Test } from 'tap'
import { setTimeout as pause } from 'node:timers/promises'
import { Reporter } from '../../src/control-plane/sync/reporter.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { createMemoryLog } from './control-plane.js'

function startReporter (
  t: Test,
  report: (stopping: AbortSignal) => Promise<void>,
  options: { everyMs?: number; gapMs?: number } = {}
) {
  const { lines, log } = createMemoryLog()
  const reporter = new Reporter({ report, log, everyMs: 60_000, gapMs: 1, ...options })
  t.after(() => reporter.close())
  return { reporter, lines }
}

t.test('a report is sent at the start, after changes, and from time to time without any', async t => {
  let sent = 0
  const { reporter } = startReporter(t, async () => { sent++ })
  await waitUntil(() => sent === 1)
  await pause(50)
  reporter.report()
  await waitUntil(() => sent === 2)
  await pause(50)
  t.equal(sent, 2)
  let regular = 0
  startReporter(t, async () => { regular++ }, { everyMs: 5 })
  await waitUntil(() => regular > 5)
})

t.test('changes during a report cause one more, however many they are', async t => {
  let sent = 0
  let atOnce = 0
  let release = () => {}
  const { reporter } = startReporter(t, async () => {
    sent++
    t.equal(++atOnce, 1)
    await new Promise<void>(resolve => { release = resolve })
    atOnce--
  })
  await waitUntil(() => sent === 1)
  for (let i = 0; i < 1_000; i++) reporter.report()
  await pause(50)
  t.equal(sent, 1)
  release()
  await waitUntil(() => sent === 2)
  release()
  await pause(100)
  t.equal(sent, 2)
})

t.test('failing reports are logged once, and reporting goes on', async t => {
  let sent = 0
  const { lines } = startReporter(t, async () => { if (++sent < 5) throw new Error('no route') }, { everyMs: 1 })
  await waitUntil(() => sent > 10)
  t.equal(lines.filter(line => line.includes('no route')).length, 1)
  t.equal(lines.filter(line => line.includes('accepts reports again')).length, 1)
})

t.test('a reporter that closes aborts the report under way, and waits for its end', async t => {
  let isRequested = false
  let hasEnded = false
  const { reporter, lines } = startReporter(t, async stopping => {
    isRequested = true
    // No response arrives.
    await once(stopping, 'abort')
    await pause(20)
    hasEnded = true
    throw stopping.reason
  })
  await waitUntil(() => isRequested)
  await reporter.close()
  t.ok(hasEnded)
  t.same(lines, [])
})

t.test('a gateway reports its bulk jobs to its control plane as it reports its health', async t => {
  const gateway = await startGateway(t)
  await waitUntil(async () => (await gateway.control.gateways.list()).some(({ checks }) => checks.bulk === 'ok'))
  t.match((await gateway.inject('/health')).json().data.checks, { bulk: { status: 'ok' } })
})
