// Memory of the whole pipeline while more and more organizations send one request each: with all that the limits, the
// monthly quota and the ledger hold.
// Usage: npm run build && node --expose-gc bench/organizations.js [--organizations 200000] [--steps 4]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from './figures.js'
import { buildGateway } from '../dist/app.js'
import { Readiness } from '../dist/http/readiness.js'
import { UsageLedger } from '../dist/limits/usage-ledger/ledger.js'
import { MonthlyUsage } from '../dist/limits/usage-ledger/month-counts.js'
import { FairConcurrencyLimiter } from '../dist/limits/concurrency-limiter.js'

const { values } = parseArgs({
  options: { organizations: { type: 'string', default: '200000' }, steps: { type: 'string', default: '4' } }
})
const [organizations, steps] = [values.organizations, values.steps].map(Number)
const now = () => new Date()
const data = mkdtempSync(join(tmpdir(), 'clinigate-bench-'))
const ledger = new UsageLedger({ file: join(data, 'usage.db'), now, log: { info () {}, warn () {}, error () {} } })
let latest = 0
const app = await buildGateway({
  now,
  version: '0.0.0',
  checks: {},
  readiness: new Readiness(),
  overload: { eventLoopDelayMs: null, heapPercent: null, rssBytes: null },
  capabilityStatement: () => ({}),
  fhirStatement: () => ({}),
  document: () => ({}),
  authenticate: async () => ({
    keyId: `key-${latest}`,
    keyName: 'bench',
    tenantId: `org-${latest}`,
    plan: 'pro',
    overage: true,
    mode: 'test',
    scopes: ['*']
  }),
  failedAttemptsPerMinute: 300,
  plans: { pro: { requestsPerMinute: 1_000, requestsPerMonth: 600_000, overage: true } },
  countUsage: (use, at) => ledger.record(use, at),
  months: new MonthlyUsage({ ledger }),
  concurrency: new FairConcurrencyLimiter({ permits: 32 }),
  bodyBytes: 1_024,
  fhir: async () => {},
  fhirOptions: async () => {},
  routes: [
    async scope => {
      scope.get('/probe', async () => ({}))
    }
  ]
})

console.log(`${describeMachine()}\n`)
console.log('| organizations | heap MiB | resident MiB |\n|---|---|---|')
try {
  show(0)
  for (let step = 1; step <= steps; step++) {
    for (; latest < organizations * step / steps; latest++) {
      const { statusCode } = await app.inject('/v1/probe')
      if (statusCode !== 200) throw new Error(`answered with ${statusCode}`)
      // Requests that use no connection leave the event loop no turn of their own.
      if (latest % 100 === 99) await new Promise(setImmediate)
    }
    show(latest)
  }
} finally {
  await app.close()
  await ledger.close()
  rmSync(data, { recursive: true, force: true })
}

function show (count) {
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  console.log(`| ${[count, ...[heapUsed, rss].map(bytes => (bytes / 1_048_576).toFixed(0))].join(' | ')} |`)
}
