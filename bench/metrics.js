// What it costs to measure and to write accesses down: the same build without either, with metrics, with the access
// audit log, and with that and an AuditEvent of each line, side by side. The processor time for a request says more
// than the rate where the machine has other things to do. Usage: npm run build && node bench/metrics.js [--seconds 5]
// [--rounds 3]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareReads } from './compare-reads.js'
import { freePort, newKey, newSurroundings, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '3' } }
})
const [seconds, rounds] = [values.seconds, values.rounds].map(Number)

const kinds = {
  plain: async () => ({}),
  'with metrics': async () => ({ METRICS_PORT: String(await freePort()) }),
  'with the access audit log': async ({ env }) => ({ AUDIT_LOG_FILE: join(env.CLINIGATE_DATA, 'access.log') }),
  'with that and AuditEvents': async ({ env }) => {
    const config = join(env.CLINIGATE_DATA, 'config.json')
    writeFileSync(config, JSON.stringify({ auditLog: { auditEvents: true } }))
    return { AUDIT_LOG_FILE: join(env.CLINIGATE_DATA, 'access.log'), CLINIGATE_CONFIG: config }
  }
}

/** What could not be sent would cost nothing and be counted as cheap. */
function demandAllSent ({ kind, auditLog }) {
  const unsent =
    auditLog === undefined
      ? 0
      : readFileSync(auditLog, 'utf8')
        .split('\n')
        .filter(line => line.includes('"action":"unsent"')).length
  if (unsent > 0) throw new Error(`${kind}: some AuditEvents were given up`)
}

try {
  const { line: upstream } = await start('bench/waiting-upstream.js', ['0'])
  const targets = []
  for (const [kind, more] of Object.entries(kinds)) {
    const surroundings = await newSurroundings(upstream)
    Object.assign(surroundings.env, await more(surroundings))
    targets.push({
      kind,
      auditLog: surroundings.env.AUDIT_LOG_FILE,
      key: newKey(surroundings),
      ...(await startOn(surroundings, 'dist/main.js'))
    })
  }
  await compareReads(targets, { bare: targets[0], seconds, rounds })
  for (const target of targets) demandAllSent(target)
} finally {
  stopAll()
}
