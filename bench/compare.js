// Compares ways to do the same: each round takes every way in turn, beginning with another one, so that a noisy
// machine, and a server that grows, are as unfair to one as to the other.
import { sum, table } from './figures.js'
import { processorTime } from './processes.js'

/**
 * @param ways by name; each does its work once more with the number of the round, and may give how many records there
 * were
 * @param processes whose processor time is told, by name: process ids
 * @returns what was measured by way: seconds, and processor milliseconds by process, of each round
 */
export async function compare (ways, { rounds, processes }) {
  const measured = Object.fromEntries(Object.keys(ways).map(name => [name, []]))
  const names = Object.keys(ways)
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length]
      measured[name].push(await measure(() => ways[name](round), processes))
    }
  }
  return measured
}

async function measure (work, processes) {
  const times = () => Object.values(processes).map(pid => processorTime(pid))
  const before = times()
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1_000
  const after = times()
  return { seconds, cpuMs: Object.fromEntries(Object.keys(processes).map((name, i) => [name, after[i] - before[i]])) }
}

/** A table of what was measured with `records` records a round; the best way of `peers` is the measure of all. */
export function show (measured, { records, peers, processes }) {
  const rateOf = name => records * measured[name].length / sum(measured[name].map(({ seconds }) => seconds))
  const peer = peers.toSorted((one, other) => rateOf(other) - rateOf(one))[0]
  const cpuOf = (name, process) =>
    sum(measured[name].map(({ cpuMs }) => cpuMs[process])) / records / measured[name].length
  const columns = Object.keys(processes)
  const head = [
    'way', 'records/s', `to ${peer}`, 'of each round', ...columns.map(name => `${name} processor ms a record`)
  ]
  console.log(table(head, Object.keys(measured).map(name => [
    name,
    rateOf(name).toFixed(0),
    (rateOf(name) / rateOf(peer)).toFixed(2),
    measured[name].map(({ seconds }) => (records / seconds).toFixed(0)).join(', '),
    ...columns.map(process => cpuOf(name, process).toFixed(2))
  ])))
}
