import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { AuditedTenant } from './audited-tenant.js'
import { BulkClient } from './bulk-client.js'
import { built } from './built.js'
import { faultNames, startFaultProxy } from './fault-proxy.js'
import { Restartable } from './processes.js'
import { mountSmallDisk } from './small-disk.js'
import { Tenant } from './tenant.js'

const { openControlStore } = await import(join(built, 'control-plane', 'store', 'store.js'))

/**
 * Injects one fault after another around a gateway in a process of its own, while organizations work with it.
 * Everything must work again within `recoveredWithinMs` of a fault's end.
 * @param {{ seconds: number, seed: number, hapi?: string, recoveredWithinMs?: number, jobsEndWithinMs?: number, log?:
 * (line: string) => void }} options bulk jobs that are under way at the end have `jobsEndWithinMs` to end
 * @returns {Promise<{ recoveries: Array<{ name: string, tookMs: number }>, counts: Record<string, number>, violations:
 * string[] }>} how long each recovery took, the counts, and the broken guarantees
 */
export async function runChaos ({
  seconds,
  seed,
  hapi,
  recoveredWithinMs = 5_000,
  jobsEndWithinMs = 180_000,
  log = () => {}
}) {
  const random = createRandom(seed)
  const scene = await openScene({ hapi, random, recoveredWithinMs, log })
  try {
    const stopping = new AbortController()
    const work = [...scene.tenants, ...scene.bulkClients].map(client => client.work(stopping.signal))
    const recoveries = await runRounds(scene, {
      until: performance.now() + seconds * 1_000,
      recoveredWithinMs,
      random,
      log
    })
    stopping.abort()
    await Promise.all(work)
    const jobsEndAt = performance.now() + jobsEndWithinMs
    await Promise.all(scene.bulkClients.map(client => client.endJobs(jobsEndAt)))
    for (const tenant of scene.tenants) await tenant.settle()
    for (const client of scene.bulkClients) client.settle()
    return {
      recoveries,
      counts: sumOf([...scene.tenants, ...scene.bulkClients]),
      violations: [...scene.violations, ...scene.tenants.flatMap(({ violations }) => violations)]
    }
  } finally {
    await scene.close()
  }
}

/** Every kind of fault once, in random order, and again as long as there is time. */
async function runRounds (scene, { until, recoveredWithinMs, random, log }) {
  const recoveries = []
  const all = [...Object.entries(scene.events), ...faultNames.map(name => [name, async () => {
    scene.proxy.set(name)
    await pause(800 + random() * 1_500)
    scene.proxy.set('none')
  }])]
  for (let left = []; performance.now() < until;) {
    if (left.length === 0) left = [...all]
    const [[name, happen]] = left.splice(Math.floor(random() * left.length), 1)
    await happen()
    const tookMs = await scene.recovered()
    recoveries.push({ name, tookMs })
    if (tookMs > recoveredWithinMs) {
      scene.violations.push(`after ${name} it took ${Math.round(tookMs)} ms until every organization was served`)
    }
    log(`${name}: served again after ${Math.round(tookMs)} ms`)
    await pause(300 + random() * 500)
  }
  return recoveries
}

async function openScene ({ hapi, random, recoveredWithinMs, log }) {
  const violations = []
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-chaos-'))
  const disk = mountSmallDisk(join(folder, 'data'))
  if (disk.why !== undefined) log(`SKIPPED disk full: it takes the right to mount a small disk (${disk.why})`)
  const backend = new Restartable({
    script: join(import.meta.dirname, 'backend.js'),
    args: [join(folder, 'backend.db')],
    ready: /http:\S+/
  })
  let backendUrl = hapi ?? await backend.start()
  const proxy = await startFaultProxy(() => backendUrl)
  const fhirUrl = proxy.origin + new URL(backendUrl).pathname.replace(/\/$/, '')
  const gateway = await startGateway(folder, { fhirUrl, dataDirectory: join(folder, 'data') })
  const auditLog = join(folder, 'data', 'audit', 'access.log')
  const audited = await startGateway(folder, {
    fhirUrl,
    dataDirectory: join(folder, 'audited'),
    more: { AUDIT_LOG_FILE: auditLog }
  })
  const unaudited = await makeTenants(gateway, { random, of: names.slice(0, -1), make: parts => new Tenant(parts) })
  const withLines = await makeTenants(audited, {
    random,
    of: names.slice(-1),
    make: parts => new AuditedTenant({ ...parts, auditLog })
  })
  const tenants = [...unaudited, ...withLines]
  const events = {
    'gateway killed': gateway.killed,
    'gateway with an audit log killed': audited.killed,
    ...disk.why === undefined && {
      'disk full': async () => {
        const tookMs = await runFullDisk(disk, { tenants: unaudited, withLines, random })
        if (tookMs > recoveredWithinMs) {
          violations.push(`with a full disk it took ${Math.round(tookMs)} ms until every organization could read`)
        }
      }
    },
    ...hapi === undefined && {
      'datastore killed': async () => {
        await backend.kill()
        await pause(500 + random() * 1_500)
        backendUrl = await backend.start()
      },
      'datastore paused': async () => {
        backend.signal('SIGSTOP')
        await pause(1_000 + random() * 2_000)
        backend.signal('SIGCONT')
      }
    }
  }
  return {
    tenants,
    bulkClients: unaudited.slice(0, 2).map(tenant => new BulkClient(tenant)),
    proxy,
    events,
    violations,
    recovered: () => measureRecovery(tenants),
    close: async () => {
      await Promise.all([gateway.close(), audited.close()])
      proxy.close()
      if (hapi === undefined) await backend.kill()
      disk.close?.()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/**
 * The gateway can write nothing to its disk: reads are served, and each write is done or rejected with a message. Where
 * lines are required, all requests are rejected.
 */
async function runFullDisk (disk, { tenants, withLines, random }) {
  // Some room becomes free by itself.
  const filling = setInterval(() => disk.fill(), 20)
  disk.fill()
  for (const tenant of [...tenants, ...withLines]) tenant.fullSince = performance.now()
  await pause(2_000 + random() * 2_000)
  const tookMs = await measureRecovery(tenants)
  for (const tenant of [...tenants, ...withLines]) tenant.fullSince = undefined
  clearInterval(filling)
  disk.empty()
  return tookMs
}

/** How long it takes until every organization has read something, in milliseconds. */
async function measureRecovery (tenants) {
  const began = performance.now()
  await Promise.all(tenants.map(async tenant => {
    while (performance.now() - began < 60_000) {
      const response = await tenant.send('GET', 'patients?count=1')
      if (response?.status === 200) return
      await pause(50)
    }
  }))
  return performance.now() - began
}

/** Letters that occur nowhere else in a response, a name for each organization. */
const names = ['Xqzalpha', 'Xqzbravo', 'Xqzcharlie', 'Xqzdelta']

/**
 * A gateway that is killed and started again; `mayBreak` returns whether that may have broken a connection since a
 * time.
 */
async function startGateway (folder, { fhirUrl, dataDirectory, more }) {
  const gateway = new Restartable({
    script: join(built, 'main.js'),
    env: { ...(await createEnvironment(folder, { fhirUrl, dataDirectory })), ...more },
    ready: /listens on/
  })
  await gateway.start()
  let brokenAt = -Infinity
  let isDown = false
  return {
    url: `http://127.0.0.1:${gateway.env.PORT}`,
    dataDirectory,
    mayBreak: began => isDown || began <= brokenAt,
    killed: async () => {
      isDown = true
      await gateway.kill()
      await gateway.start()
      brokenAt = performance.now()
      isDown = false
    },
    close: () => gateway.kill()
  }
}

async function makeTenants ({ url, dataDirectory, mayBreak }, { random, of, make }) {
  const store = await openControlStore({
    file: join(dataDirectory, 'control.db'),
    plans: ['chaos'],
    now: () => new Date()
  })
  const tenants = []
  for (const name of of) {
    const { tenantId } = await store.organizations.create({ name, plan: 'chaos' }, 'chaos')
    const { secret } = await store.keys.create({ tenantId, mode: 'test', name: 'chaos' }, 'chaos')
    tenants.push(make({ name, secret, url, others: names.filter(other => other !== name), random, mayBreak }))
    while ((await fetch(`${url}/v1/patients`, { headers: { 'x-api-key': secret } })).status === 401) await pause(50)
  }
  await store.close()
  return tenants
}

async function createEnvironment (folder, { fhirUrl, dataDirectory }) {
  const plans = join(folder, 'plans.json')
  writeFileSync(plans, JSON.stringify({ chaos: { requestsPerMinute: null, requestsPerMonth: null, overage: true } }))
  const config = join(folder, 'config.json')
  // Some continue while others wait until the lease of a killed gateway expires. Nothing is reserved on a small disk.
  writeFileSync(config, JSON.stringify({ bulk: { maxConcurrentJobs: 16, jobsPerOrganization: 8, reserveBytes: 0 } }))
  return {
    CLINIGATE_DATA: dataDirectory,
    CLINIGATE_CONFIG: config,
    CLINIGATE_PLANS: plans,
    HOST: '127.0.0.1',
    PORT: String(await findFreePort()),
    PUBLIC_URL: 'https://api.example.org',
    LOG_LEVEL: 'silent',
    FHIR_TEST_URL: fhirUrl,
    FHIR_LIVE_URL: fhirUrl
  }
}

/** Below those that systems give to clients, which would take it while the gateway is down. */
async function findFreePort () {
  const port = 20_000 + Math.floor(Math.random() * 12_000)
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(() => true, () => false)
  if (!isFree) return findFreePort()
  server.close()
  await once(server, 'close')
  return port
}

function sumOf (tenants) {
  const total = {}
  for (const { counts } of tenants) {
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count
  }
  return total
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function createRandom (seed) {
  let state = seed | 0
  return () => {
    state = state + 0x6D2B79F5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
  }
}
