// What bulk work costs ordinary requests: the times of single reads of one organization, one after the other, while
// nothing else happens, while a job of another organization runs, and while the same HAPI is loaded or exported from
// directly. With --worker the jobs run in a process of their own.
// Usage: npm run build && node bench/bulk-latency.js [--requests 500] [--records 5000] [--worker] [--fhir <base URL>]
import { parseArgs } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'undici'
import { generateRecords } from './bulk-records.js'
import {
  exportDirectly,
  exportThrough,
  hapiOptions,
  importThrough,
  loadByTransactions,
  openHapi
} from './bulk-methods.js'
import { describeMachine, quantile } from './figures.js'
import { createKey, createEnvironment, startOn, startWithWorker, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '500' },
    records: { type: 'string', default: '5000' },
    worker: { type: 'boolean', default: false },
    ...hapiOptions
  }
})
const [requests, records] = [values.requests, values.records].map(Number)
const types = ['Patient', 'Observation']

const hapi = await openHapi(values)
try {
  const environment = await createEnvironment(hapi.url)
  const [one, other] = [createKey(environment), createKey(environment)]
  const { url } = values.worker ? await startWithWorker(environment) : await startOn(environment, 'dist/main.js')
  const series = Date.now().toString(36)
  await loadByTransactions(hapi.url, generateRecords(`${series}-one`, 10, one.tenantId), { atOnce: 1 })
  await loadByTransactions(hapi.url, generateRecords(`${series}-other`, records, other.tenantId), { atOnce: 2 })
  const target = { url, path: `/v1/patients/${series}-one-p0`, secret: one.secret }
  const busy = {
    'nothing else': undefined,
    'an import through the gateway': () =>
      importThrough({ url, secret: other.secret }, generateRecords(`${series}-new`, records)),
    'the same loaded into HAPI directly': () =>
      loadByTransactions(hapi.url, generateRecords(`${series}-direct`, records, 'direct'), { atOnce: 2 }),
    'an export through the gateway': () => exportThrough({ url, secret: other.secret }, types),
    'the same exported from HAPI directly': () => exportDirectly(hapi.url, other.tenantId, types)
  }
  await measureLatencies(target, { most: 200 })
  console.log(
    `${describeMachine()}; reads one after the other with pauses of 5 ms, at most ${requests}; ` +
    `jobs of ${records} records\n`
  )
  console.log('| meanwhile | reads | p50 ms | p99 ms |\n|---|---|---|---|')
  for (const [meanwhile, work] of Object.entries(busy)) {
    const until = work?.()
    const { count, p50, p99 } = await measureLatencies(target, { until, most: requests })
    await until
    console.log(`| ${[meanwhile, count, p50.toFixed(1), p99.toFixed(1)].join(' | ')} |`)
  }
} finally {
  stopAll()
  await hapi.stop()
}

/** Sends reads one after the other, until another task has ended or the maximum is reached. */
async function measureLatencies ({ url, path, secret }, { until, most }) {
  const client = new Client(url)
  const measured = []
  const state = { isOver: false }
  until?.then(() => { state.isOver = true })
  while (measured.length < most && !(state.isOver && measured.length > 0)) {
    const startedAt = performance.now()
    const { statusCode, body } = await client.request({ method: 'GET', path, headers: { 'x-api-key': secret } })
    await body.dump()
    if (statusCode !== 200) throw new Error(`answered with ${statusCode}`)
    measured.push(performance.now() - startedAt)
    await pause(5)
  }
  await client.close()
  return { count: measured.length, p50: quantile(measured, 0.5), p99: quantile(measured, 0.99) }
}
