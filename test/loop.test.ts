import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { getBackoffMs, getJitteredBackoffMs } from '../src/time/backoff.js'
import { BackgroundTask } from '../src/time/background-task.js'
import { waitUntil } from './harness/until.js'

t.test(
  'after failures the pause doubles each time, up to a maximum; many processes do not retry in step',
  async t => {
    const bounds = { firstMs: 100, maxMs: 5_000 }
    t.strictSame(
      [0, 1, 2, 5, 6, 5_000].map(failures => getBackoffMs(bounds, failures)),
      [100, 200, 400, 3_200, 5_000, 5_000]
    )
    t.strictSame(
      [0, 0.5, 1].map(random => getJitteredBackoffMs(bounds, 1, () => random)),
      [200, 150, 100]
    )
    const pauses = new Set(Array.from({ length: 100 }, () => getJitteredBackoffMs(bounds, 9)))
    t.ok(pauses.size > 90)
    t.ok([...pauses].every(ms => ms >= 2_500 && ms <= 5_000))
  }
)

t.test('turns run one at a time, each after the pause that the one before returned', async t => {
  let [turns, atOnce, maxAtOnce] = [0, 0, 0]
  const loop = new BackgroundTask(async () => {
    maxAtOnce = Math.max(maxAtOnce, ++atOnce)
    await pause(2)
    atOnce--
    return ++turns < 5 ? 0 : 3_600_000
  })
  await waitUntil(() => turns === 5)
  await pause(50)
  t.strictSame([turns, maxAtOnce], [5, 1])
  await loop.stop()
})

t.test('a wake cuts the pause short; one that comes during a turn is not lost', async t => {
  let turns = 0
  const loop: BackgroundTask = new BackgroundTask(async () => {
    turns++
    await pause(20)
    return 3_600_000
  })
  loop.wake()
  await waitUntil(() => turns === 2)
  await pause(60)
  t.equal(turns, 2)
  loop.wake()
  await waitUntil(() => turns === 3)
  await loop.stop()
})

t.test('stopping aborts the turn, waits for it, and starts no other, at whatever moment', async t => {
  let [turns, hasLeft] = [0, false]
  const inTurn = new BackgroundTask(async stopping => {
    turns++
    await pause(3_600_000, undefined, { signal: stopping }).catch(() => {})
    await pause(20)
    hasLeft = true
    return 0
  })
  await inTurn.stop()
  t.strictSame([turns, hasLeft], [1, true])
  const inPause = new BackgroundTask(async () => {
    turns++
    return 3_600_000
  })
  await pause(10)
  await inPause.stop()
  await inPause.stop()
  inPause.wake()
  await pause(10)
  t.equal(turns, 2)
})
