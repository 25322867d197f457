// The cost of parts of the gateway for a simple read: the same build with them and without. First limits, quota, ledger
// and the limit of concurrent requests, then metrics and the access audit log.
// Usage: npm run bench -- parts [--seconds 5] [--rounds 3] [--groups limits,observation]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, formatTable } from './figures.js'
import { alternate, getMedian, getMedianRatio } from './load.js'
import { findFreePort, createKey, createEnvironment, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    groups: { type: 'string', default: 'limits,observation' }
  }
})
const [duration, rounds] = [values.seconds, values.rounds].map(Number)
const amount = { duration, connections: 10 }

/** Limits that are counted and never reached. */
const plan = { requestsPerMinute: 1_000_000_000, requestsPerMonth: 1_000_000_000, overage: true }
const buildWithoutSteps = steps => ({
  script: 'bench/gateway.js',
  plan,
  args: steps === '' ? [] : ['--without', steps]
})
const buildWithEnvironment = env => ({ script: 'dist/main.js', env })
const auditLog = ({ env }) => ({ AUDIT_LOG_FILE: join(env.CLINIGATE_DATA, 'access.log') })

/** The first of each group is the reference of the others. */
const groups = {
  limits: {
    'without any': buildWithoutSteps('concurrency,ledger,limits'),
    'with limits': buildWithoutSteps('concurrency,ledger'),
    'with limits and ledger': buildWithoutSteps('concurrency'),
    'with all': buildWithoutSteps('')
  },
  observation: {
    plain: buildWithEnvironment(async () => ({})),
    'with metrics': buildWithEnvironment(async () => ({ METRICS_PORT: String(await findFreePort()) })),
    'with the access audit log': buildWithEnvironment(auditLog),
    'with that and AuditEvents': buildWithEnvironment(environment => {
      const config = join(environment.env.CLINIGATE_DATA, 'config.json')
      writeFileSync(config, JSON.stringify({ auditLog: { auditEvents: true } }))
      return { ...auditLog(environment), CLINIGATE_CONFIG: config }
    })
  }
}

console.log(`${describeMachine()}; simple reads, 10 connections, ${rounds} rounds of ${duration} s; medians`)
for (const group of values.groups.split(',')) await measure(groups[group])

async function measure (kinds) {
  try {
    const { line: upstream } = await start('bench/stub-upstream.js')
    const targets = {}
    const files = {}
    for (const [kind, { script, args, plan, env }] of Object.entries(kinds)) {
      const environment = await createEnvironment(upstream, plan)
      Object.assign(environment.env, await env?.(environment))
      const { tenantId, secret } = createKey(environment)
      const { url, pid } = await startOn(environment, script, args)
      targets[kind] = { url: `${url}/v1/patients/${tenantId}`, pid, headers: { 'x-api-key': secret } }
      files[kind] = environment.env.AUDIT_LOG_FILE
    }
    await alternate(targets, { ...amount, rounds: 1, duration: Math.min(2, duration) })
    show(await alternate(targets, { ...amount, rounds }))
    for (const [kind, file] of Object.entries(files)) requireAllSent(kind, file)
  } finally {
    stopAll()
  }
}

function show (results) {
  const [first] = Object.keys(results)
  const rows = Object.entries(results).map(([kind, all]) => [
    kind,
    ...['rate', 'cost'].flatMap(figure => [
      getMedian(all, figure).toFixed(0), getMedianRatio(all, results[first], figure).toFixed(3)
    ])
  ])
  const ratioHeading = `to ${first}`
  console.log(`\n${formatTable(['gateway', 'requests/s', ratioHeading, 'processor µs a request', ratioHeading], rows)}`)
}

/** A request that could not be sent would cost nothing and be counted as cheap. */
function requireAllSent (kind, file) {
  if (file === undefined) return
  const unsent = readFileSync(file, 'utf8').split('\n').filter(line => line.includes('"action":"unsent"'))
  if (unsent.length > 0) throw new Error(`${kind}: some AuditEvents were given up`)
}
