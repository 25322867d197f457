import t from 'tap'
import { untilAborted } from '../../src/time/with-timeout.js'

t.test('a caller that waits for work until it stops learns of the failure of the work', async t => {
  const { signal } = new AbortController()
  const failing = untilAborted(Promise.reject(new Error('down')), signal).catch((error: Error) => error.message)
  t.equal(await Promise.race([failing, new Promise(resolve => setTimeout(resolve, 1_000, 'never settled'))]), 'down')
})

t.test('a caller that stops no longer waits, whenever it stops', async t => {
  const endless = new Promise<string>(() => {})
  const stopping = new AbortController()
  const waiting = untilAborted(endless, stopping.signal)
  stopping.abort()
  t.equal(await waiting, undefined)
  t.equal(await untilAborted(endless, stopping.signal), undefined)
  t.equal(await untilAborted(Promise.resolve('done'), new AbortController().signal), 'done')
})
