import { test, type Test } from 'tap'
import { Parallelism } from '../../src/bulk/import/parallelism.js'

/** Sends what a datastore takes that works on some requests at a time and shares itself among more. @returns the limits on the way */
function send (parallelism: Parallelism, { atOnce, milliseconds = 3, requests = 400 }: { readonly atOnce: number, readonly milliseconds?: number, readonly requests?: number }): number[] {
  return Array.from({ length: requests }, (_, i) => {
    const uneven = 1 + 0.2 * Math.sin(i * 7)
    parallelism.succeeded(milliseconds * Math.max(1, parallelism.limit / atOnce) * uneven)
    return parallelism.limit
  })
}

/** The least and the most of the later half. */
function usual (limits: readonly number[]): { least: number, most: number } {
  const later = limits.slice(limits.length / 2)
  return { least: Math.min(...later), most: Math.max(...later) }
}

const isWithin = (t: Test, { least, most }: { least: number, most: number }, [from, to]: readonly [number, number]) => t.ok(from <= least && most <= to, `${least} to ${most}`)

test('a datastore has one or two requests to wait beside those that it works on, and no more', async t => {
  isWithin(t, usual(send(new Parallelism(), { atOnce: 2 })), [3, 4])
  isWithin(t, usual(send(new Parallelism(), { atOnce: 4 })), [5, 6])
  isWithin(t, usual(send(new Parallelism(), { atOnce: 64 })), [8, 8])
})

test('a datastore that becomes slower is asked for less, and for as much as before when it recovers', async t => {
  const parallelism = new Parallelism()
  send(parallelism, { atOnce: 4 })
  isWithin(t, usual(send(parallelism, { atOnce: 1 })), [1, 2])
  isWithin(t, usual(send(parallelism, { atOnce: 4 })), [5, 6])
})

test('a datastore that stays slow is not asked for less and less', async t => {
  const parallelism = new Parallelism()
  send(parallelism, { atOnce: 2 })
  isWithin(t, usual(send(parallelism, { atOnce: 2, milliseconds: 30 })), [2, 4])
})

test('a datastore that asks to be left alone gets half of it, one at the least, and more again afterwards', async t => {
  const parallelism = new Parallelism()
  send(parallelism, { atOnce: 64 })
  parallelism.pushedBack()
  t.equal(parallelism.limit, 4)
  for (let i = 0; i < 5; i++) parallelism.pushedBack()
  t.equal(parallelism.limit, 1)
  t.equal(send(parallelism, { atOnce: 64 }).at(-1), 8)
})
