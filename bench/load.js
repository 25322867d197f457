// Loads targets by turns: each round runs every one, so that a noisy machine affects all of them alike. The processor
// time of a request says more than the rate, since it hardly depends on the other load of the machine.
// As a program it loads one address until it is ended, then prints the result: a process of its own, so that it takes
// no time of the one that measures. Usage: node bench/load.js <url> <key> <connections>
import autocannon from 'autocannon'
import { median, quantile } from './figures.js'
import { readProcessorTime } from './processes.js'

/**
 * One round of load.
 * @param target options of autocannon, and `pid`, the process whose time is measured
 * @param amount `duration` in seconds, or `amount` of requests, and `connections`
 * @returns requests a second, processor time in µs of a request, latencies in ms
 * @throws {Error} when a response was not successful
 */
export async function load ({ pid, ...target }, amount, attempts = 3) {
  const time = () => pid === undefined ? NaN : readProcessorTime(pid)
  const before = time()
  const startedAt = performance.now()
  const running = autocannon({ ...target, ...amount })
  // In fractions of a millisecond, which autocannon's own quantiles are not.
  const latencies = []
  running.on('response', (client, status, bytes, ms) => latencies.push(ms))
  const { '2xx': served, non2xx, errors } = await running
  const seconds = (performance.now() - startedAt) / 1_000
  const name = `${target.method ?? 'GET'} ${target.url}`
  if (non2xx > 0 || errors > 0) throw new Error(`${name}: ${non2xx} responses were not 2xx, ${errors} errors`)
  // A busy machine may leave a short round no time at all.
  if (served === 0 && attempts > 1) return load({ pid, ...target }, amount, attempts - 1)
  if (served === 0) throw new Error(`${name}: no response in time`)
  return {
    rate: served / seconds,
    cost: (time() - before) * 1_000 / served,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99)
  }
}

/** Loads each target in `rounds`, starting with another one each time. @returns each one's rounds, by name */
export async function alternate (targets, { rounds, ...amount }) {
  const names = Object.keys(targets)
  const measured = Object.fromEntries(names.map(name => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length]
      measured[name].push(await load(targets[name], amount))
    }
  }
  return measured
}

/** The median of a figure, and of its ratios to the same rounds of another target. */
export const getMedian = (rounds, figure) => median(rounds.map(one => one[figure]))
export const getMedianRatio = (rounds, others, figure) =>
  median(rounds.map((one, i) => one[figure] / others[i][figure]))

if (import.meta.main) {
  const [url, key, connections] = process.argv.slice(2)
  const endless = autocannon({ url, headers: { 'x-api-key': key }, connections: Number(connections), duration: 3_600 })
  process.once('SIGTERM', () => endless.stop())
  const { '2xx': served, '4xx': refused, '5xx': failed, duration } = await endless
  console.log(JSON.stringify({ served, refused, failed, seconds: duration }))
}
