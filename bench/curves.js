// What a request costs by the size of a search, and by the number of organizations and keys that requests are spread
// over.
// Usage: npm run bench -- curves [--write] [--seconds 2] [--rounds 3] [--sizes 1,10,20,50,100,500]
//   [--organizations 1,100,10000]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openControlStore } from '../dist/control-plane/store/store.js'
import { bare, startContestants, buildTarget } from './contestants.js'
import { describeRun, writeBetweenMarkers } from './documents.js'
import { formatTable } from './figures.js'
import { alternate, getMedian, getMedianRatio } from './load.js'
import { createKey, createEnvironment, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    sizes: { type: 'string', default: '1,10,20,50,100,500' },
    organizations: { type: 'string', default: '1,100,10000' }
  }
})
const rounds = Number(values.rounds)
const amount = { rounds, duration: Number(values.seconds), connections: 16 }
/** The maximum of a page of the simple form. */
const maxSimpleSize = 100

try {
  const sizes = await measureSizes(values.sizes.split(',').map(Number))
  const organizations = await measureOrganizations(values.organizations.split(',').map(Number))
  const how = `${describeRun(new Date())} Medians of ${rounds} rounds by turns, 16 connections.`
  const text = `${how}\n\n${sizes}\n\n${organizations}`
  console.log(text)
  if (values.write) writeBetweenMarkers('docs/performance.md', 'curves', text)
} finally {
  stopAll()
}

async function measureSizes (sizes) {
  const contestants = await startContestants({ peers: [bare] })
  const rows = []
  for (const size of sizes) {
    const names = Object.keys(contestants).filter(name => name !== 'clinigate simple' || size <= maxSimpleSize)
    const targets = Object.fromEntries(names.map(name => [name, buildTarget(contestants, name, `search of ${size}`)]))
    await alternate(targets, { ...amount, rounds: 1, duration: 1 })
    const results = await alternate(targets, amount)
    const cells = ['clinigate raw', 'clinigate simple'].flatMap(name => results[name] === undefined
      ? ['–', '–']
      : [getMedian(results[name], 'cost').toFixed(0), getMedianRatio(results[name], results[bare], 'cost').toFixed(2)])
    rows.push([size, getMedian(results[bare], 'cost').toFixed(0), ...cells])
  }
  const head = ['records of a search', `${bare} µs`, 'clinigate raw µs', 'to that', 'clinigate simple µs', 'to that']
  return formatTable(head, rows)
}

/** All gateways run at once and are loaded by turns. */
async function measureOrganizations (counts) {
  const { line: upstream } = await start('bench/stub-upstream.js')
  const targets = {}
  for (const count of counts) targets[count] = await startWithOrganizations(upstream, count)
  await alternate(targets, { ...amount, rounds: 1, duration: 2 })
  const results = await alternate(targets, amount)
  const rows = counts.map(count => [
    count,
    getMedian(results[count], 'rate').toFixed(0),
    getMedian(results[count], 'cost').toFixed(0),
    getMedianRatio(results[count], results[counts[0]], 'cost').toFixed(2)
  ])
  return formatTable(['organizations, a key each', 'raw reads/s', 'processor µs a read', 'to the first'], rows)
}

/** A gateway whose requests come from each organization in turn. */
async function startWithOrganizations (upstream, count) {
  const environment = await createEnvironment(upstream)
  const keys = [createKey(environment)]
  const file = join(environment.env.CLINIGATE_DATA, 'control.db')
  const store = await openControlStore({ file, plans: ['bench'], now: () => new Date() })
  while (keys.length < count) {
    const { tenantId } = await store.organizations.create({ name: `bench ${keys.length}`, plan: 'bench' }, 'bench')
    const { secret } = await store.keys.create({ tenantId, name: 'bench', mode: 'test', scopes: ['*'] }, 'bench')
    keys.push({ tenantId, secret })
  }
  await store.close()
  const { url, pid } = await startOn(environment, 'dist/main.js')
  let next = 0
  const setupRequest = request => {
    const { tenantId, secret } = keys[next++ % count]
    return { ...request, path: `/v1/fhir/Patient/${tenantId}`, headers: { 'x-api-key': secret } }
  }
  return { url, pid, requests: [{ setupRequest }] }
}
