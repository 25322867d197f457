// Runs a benchmark by name, each a program of its own, with the options that follow; without a name those of `core`, of
// which `--write` puts the figures into README.md and docs/performance.md.
// Usage: npm run bench [-- [name] [options]]
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const core = {
  requests: 'cost and rate of each kind of request beside its peers (10 minutes)',
  curves: 'cost by size of a search, and by number of organizations and keys (4 minutes)',
  hapi: 'latency of reads and searches with a real HAPI, directly and through the gateway (4 minutes)',
  'several-processes': 'one and two processes beside one and two bare proxies (2 minutes)'
}
const others = {
  check: 'fails where a request costs 20 % more than declared.json says (1 minute)',
  parts: 'what limits, ledger, metrics and audit log cost',
  fairness: 'what an organization notices of another that sends all it can',
  organizations: 'memory by number of organizations',
  'start-up': 'time to the first response',
  mappings: 'each mapping, each way',
  keys: "a gateway's copy of many keys",
  events: 'the event of each change',
  deliveries: 'webhooks while a receiver hangs',
  'bulk-memory': 'memory and time of imports and exports',
  'bulk-export': "exports beside HAPI's own",
  'bulk-import': 'imports beside loading HAPI directly',
  'bulk-latency': 'reads during an import or export'
}

const [first, ...options] = process.argv.slice(2)
const name = first?.startsWith('-') ? undefined : first
const args = name === undefined ? process.argv.slice(2) : options
if (name !== undefined && !(name in core) && !(name in others)) {
  const lines = Object.entries({ ...core, ...others }).map(([known, what]) => `  ${known.padEnd(18)} ${what}`)
  console.error(`Usage: npm run bench [-- NAME [options]]\n\n${lines.join('\n')}`)
  process.exit(2)
}
for (const script of name === undefined ? Object.keys(core) : [name]) {
  console.log(`\n${script}\n`)
  const file = join(import.meta.dirname, `${script}.js`)
  const { status } = spawnSync(process.execPath, ['--expose-gc', file, ...args], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
