// What it costs to measure and to write accesses down: the same build without either, with metrics, and with the access audit log, side by side.
// The processor time for a request says more than the rate where the machine has other things to do.
// Usage: npm run build && node bench/metrics.js [--seconds 5] [--rounds 3]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareReads } from './compare-reads.js'
import { freePort, newKey, newSurroundings, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '3' } } })
const [seconds, rounds] = [values.seconds, values.rounds].map(Number)

const kinds = {
  plain: async () => ({}),
  'with metrics': async () => ({ METRICS_PORT: String(await freePort()) }),
  'with the access audit log': async ({ env }) => ({ AUDIT_LOG_FILE: join(env.CLINIGATE_DATA, 'access.log') })
}

try {
  const { line: upstream } = await start('bench/waiting-upstream.js', ['0'])
  const targets = []
  for (const [kind, more] of Object.entries(kinds)) {
    const surroundings = await newSurroundings(upstream)
    Object.assign(surroundings.env, await more(surroundings))
    targets.push({ kind, key: newKey(surroundings), ...await startOn(surroundings, 'dist/main.js') })
  }
  await compareReads(targets, { bare: targets[0], seconds, rounds })
} finally {
  stopAll()
}
