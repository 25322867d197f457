// Compares several ways to do the same work: each round runs every way in turn, starting with another one, so that a
// noisy machine, and a server that grows, affect all of them alike.
import { sum, formatTable } from './figures.js'
import { readProcessorTime } from './processes.js'

/**
 * @param methods by name; each does its work once more with the number of the round, and may return the number of
 * records
 * @param processes whose processor time is measured, by name: process ids
 * @returns by way, for each round: seconds, and processor milliseconds by process
 */
export async function compare (methods, { rounds, processes }) {
  const measured = Object.fromEntries(Object.keys(methods).map(name => [name, []]))
  const names = Object.keys(methods)
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length]
      measured[name].push(await measure(() => methods[name](round), processes))
    }
  }
  return measured
}

async function measure (work, processes) {
  const readProcessorTimes = () => Object.values(processes).map(pid => readProcessorTime(pid))
  const before = readProcessorTimes()
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1_000
  const after = readProcessorTimes()
  return { seconds, cpuMs: Object.fromEntries(Object.keys(processes).map((name, i) => [name, after[i] - before[i]])) }
}

/** A table of the measurements with `records` records a round; the best way of `peers` is the reference. */
export function show (measured, { records, peers, processes }) {
  const computeRate = name => records * measured[name].length / sum(measured[name].map(({ seconds }) => seconds))
  const peer = peers.toSorted((one, other) => computeRate(other) - computeRate(one))[0]
  const computeCpuMs = (name, process) =>
    sum(measured[name].map(({ cpuMs }) => cpuMs[process])) / records / measured[name].length
  const columns = Object.keys(processes)
  const head = [
    'way', 'records/s', `to ${peer}`, 'of each round', ...columns.map(name => `${name} processor ms a record`)
  ]
  console.log(formatTable(head, Object.keys(measured).map(name => [
    name,
    computeRate(name).toFixed(0),
    (computeRate(name) / computeRate(peer)).toFixed(2),
    measured[name].map(({ seconds }) => (records / seconds).toFixed(0)).join(', '),
    ...columns.map(process => computeCpuMs(name, process).toFixed(2))
  ])))
}
