// Reads of one record from several gateways by turns, and what each takes beside one of them.
import autocannon from 'autocannon'
import { cpus } from 'node:os'
import { median } from './median.js'
import { processorTime } from './processes.js'

/**
 * Loads each target, in rounds of some seconds, and prints the medians as a table; `bare` is the target that the others
 * are compared with.
 */
export async function compareReads (targets, { bare, seconds, rounds }) {
  const measured = new Map(targets.map(target => [target, []]))
  for (const target of targets) await load(target, 2)
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) measured.get(target).push(await load(target, seconds))
  }
  console.log(
    `${cpus().length} × ${cpus()[0].model}, Node ${process.version}; reads, 10 connections, ${rounds} rounds of ${seconds} s; medians\n`
  )
  console.log(
    `| gateway | requests/s | to ${bare.kind} | processor µs for a request | to ${bare.kind} |\n|---|---|---|---|---|`
  )
  const figuresOf = target => ({
    rate: median(measured.get(target).map(one => one.rate)),
    cost: median(measured.get(target).map(one => one.cost))
  })
  const least = figuresOf(bare)
  for (const target of targets) {
    const { rate, cost } = figuresOf(target)
    console.log(
      `| ${[target.kind, rate.toFixed(0), (rate / least.rate).toFixed(3), cost.toFixed(0), (cost / least.cost).toFixed(3)].join(' | ')} |`
    )
  }
}

async function load ({ url, pid, key: { tenantId, secret } }, duration) {
  const before = processorTime(pid)
  const {
    '2xx': served,
    non2xx,
    errors,
    requests
  } = await autocannon({
    url: `${url}/v1/patients/${tenantId}`,
    headers: { 'x-api-key': secret },
    connections: 10,
    duration
  })
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} answers were not 2xx, ${errors} errors`)
  return { rate: requests.average, cost: (processorTime(pid) - before) * 1_000 / served }
}
