import { test, type Test } from 'tap'
import { Parallelism } from '../../src/jobs/import/pace.js'

/**
 * A datastore that works on some requests at a time and shares itself among more, or whose speed is given for each
 * number of them.
 */
class Datastore {
  #now = 0

  constructor (readonly parallelism = new Parallelism()) {}

  /** Always has as many requests under way as the limit allows. @returns the limits on the way */
  take ({
    atOnce,
    milliseconds = 300,
    requests = 2_000
  }: {
    readonly atOnce: number | readonly number[]
    readonly milliseconds?: number
    readonly requests?: number
  }): number[] {
    return Array.from({ length: requests }, (_, i) => {
      const uneven = 1 + 0.2 * Math.sin(i * 7)
      const { limit } = this.parallelism
      this.#now +=
        (uneven * milliseconds) /
        (typeof atOnce === 'number' ? Math.min(atOnce, limit) : (atOnce[limit - 1] ?? atOnce.at(-1)!))
      this.parallelism.recordSuccess(200, this.#now)
      return this.parallelism.limit
    })
  }
}

/** The limit that held nearly always in the later half, and the others that were tried. */
function findUsualLimit (limits: readonly number[]): { limit: number, share: number } {
  const later = limits.slice(limits.length / 2)
  const shares = [1, 2, 3, 4, 5, 6, 7, 8].map(limit => ({
    limit,
    share: later.filter(one => one === limit).length / later.length
  }))
  return shares.reduce((one, other) => one.share > other.share ? one : other)
}

function isUsual (t: Test, limits: readonly number[], expected: number): void {
  const { limit, share } = findUsualLimit(limits)
  t.equal(limit, expected)
  t.ok(share > 0.85, `${limit} for ${share} of the time`)
}

test('a datastore gets as many requests as it works on at a time, and no more', async t => {
  for (const atOnce of [1, 2, 4, 8]) isUsual(t, new Datastore().take({ atOnce }), atOnce)
  isUsual(t, new Datastore().take({ atOnce: 64 }), 8)
})

test('what a fifth of the rate hangs on is not given up for having fewer, and what brings next to nothing is not added', async t => {
  isUsual(t, new Datastore().take({ atOnce: [0.8, 1, 1.02] }), 2)
  isUsual(t, new Datastore().take({ atOnce: [0.7, 0.85, 1, 0.9] }), 3)
  isUsual(t, new Datastore().take({ atOnce: [1, 1.02] }), 1)
})

test('free capacity of a datastore is used soon', async t => {
  t.ok(new Datastore().take({ atOnce: 64, requests: 130 }).includes(8))
})

test('a short import makes few useless tries', async t => {
  const limits = new Datastore().take({ atOnce: 2, requests: 40 })
  t.ok(limits.filter(limit => limit === 2).length >= 28, limits.join(' '))
})

test('a try that is clearly useless is soon given up', async t => {
  const limits = new Datastore().take({ atOnce: [0.6, 1, 0.95], requests: 100 })
  t.ok(limits.includes(1), 'one less was tried')
  t.ok(limits.filter(limit => limit === 1).length <= 4, limits.join(' '))
})

test('a datastore that becomes slower gets fewer requests, and as many as before when it recovers', async t => {
  const datastore = new Datastore()
  datastore.take({ atOnce: 4 })
  isUsual(t, datastore.take({ atOnce: 1 }), 1)
  isUsual(t, datastore.take({ atOnce: 4 }), 4)
})

test('a datastore that stays slow does not get fewer and fewer requests', async t => {
  const datastore = new Datastore()
  datastore.take({ atOnce: 2 })
  isUsual(t, datastore.take({ atOnce: 2, milliseconds: 3_000 }), 2)
})

test('a datastore that reports overload gets half the requests, one at least, and more again afterwards', async t => {
  const datastore = new Datastore()
  const { parallelism } = datastore
  isUsual(t, datastore.take({ atOnce: 64 }), 8)
  for (let i = 0; i < 6; i++) parallelism.recordError()
  t.equal(parallelism.limit, 1)
  isUsual(t, datastore.take({ atOnce: 64 }), 8)
})
