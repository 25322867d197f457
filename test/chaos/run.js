/**
 * `npm run chaos [-- --minutes N --seed N --hapi URL]`: a gateway whose datastore, network and process fail again and
 * again, on the sandbox or on the given FHIR server, while clients check what was acknowledged. The seed sets the
 * faults and their order.
 */
import { parseArgs } from 'node:util'
import { runChaos } from './chaos.js'

const options = {
  minutes: { type: 'string', default: '5' },
  seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  hapi: { type: 'string' }
}
const { values: { minutes, seed, hapi } } = parseArgs({ options })
console.log(`Chaos for ${minutes} minutes with seed ${seed}`)
const { recoveries, counts, violations } = await runChaos({
  seconds: Number(minutes) * 60,
  seed: Number(seed),
  hapi,
  log: console.log
})
console.log(
  `\n${recoveries.length} faults, longest recovery ${Math.round(Math.max(...recoveries.map(({ tookMs }) => tookMs)))} ms; ${JSON.stringify(counts)}`
)
for (const violation of violations.slice(0, 50)) console.log(`BROKEN: ${violation}`)
console.log(
  violations.length === 0
    ? 'Every promise was kept.'
    : `${violations.length} promises broken; again with --seed ${seed}`
)
process.exitCode = violations.length === 0 ? 0 : 1
