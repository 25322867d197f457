// What limits, quota and ledger cost, and what the turns of the organizations do: the same build with them and without,
// side by side.
// The processor time for a request says more than the rate where the machine has other things to do.
// Usage: npm run build && node bench/limits.js [--seconds 5] [--rounds 3]
import { parseArgs } from 'node:util'
import { compareReads } from './compare-reads.js'
import { newKey, newSurroundings, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '3' } }
})
const [seconds, rounds] = [values.seconds, values.rounds].map(Number)

/** Limits that are counted and never reached. */
const plan = { requestsPerMinute: 1_000_000_000, requestsPerMonth: 1_000_000_000, overage: true }
const kinds = {
  'with all': [],
  'without turns': ['--without', 'places'],
  'without turns and ledger': ['--without', 'places,ledger'],
  'without any': ['--without', 'places,ledger,limits']
}

try {
  const { line: upstream } = await start('bench/waiting-upstream.js', ['0'])
  const targets = []
  for (const [kind, args] of Object.entries(kinds)) {
    const surroundings = await newSurroundings(upstream, plan)
    targets.push({ kind, key: newKey(surroundings), ...await startOn(surroundings, 'bench/gateway.js', args) })
  }
  await compareReads(targets, { bare: targets.at(-1), seconds, rounds })
} finally {
  stopAll()
}
