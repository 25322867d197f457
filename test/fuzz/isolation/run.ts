/**
 * `npm run fuzz [-- --minutes N --requests N --seed N --hapi URL]`: generated requests of one organization while
 * another has records, on the sandbox or on the given FHIR server. Prints the seed; a failure is shrunk to the requests
 * that matter.
 */
import { parseArgs } from 'node:util'
import { startAttackWorld } from '../../isolation/attacks.js'
import { handOverOnHapi } from '../../isolation/failover.js'
import { startSandboxStores } from '../../isolation/sandbox-stores.js'
import { fuzz } from './fuzz.js'

const options = {
  minutes: { type: 'string', default: '5' },
  requests: { type: 'string', default: '1000000000' },
  seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  hapi: { type: 'string' }
} as const
const { values: { minutes, requests, seed, hapi } } = parseArgs({ options })
const closers: Array<() => unknown> = []
const t = { after: (close: () => unknown) => { closers.unshift(close) } }

try {
  const sandbox = await startSandboxStores(t as never)
  const world = await startAttackWorld(
    t as never,
    hapi === undefined ? sandbox : { ...sandbox, kind: 'hapi', testUrl: hapi, handOver: handOverOnHapi }
  )
  console.log(`Fuzzing for ${minutes} minutes with seed ${seed}`)
  const begin = performance.now()
  const { sent, failure } = await fuzz(world, {
    seed: Number(seed),
    minRequests: 0,
    requests: Number(requests),
    minutes: Number(minutes)
  })
  console.log(`${sent} requests in ${Math.round((performance.now() - begin) / 1000)} s`)
  if (failure !== undefined) console.log(`FAILED with --seed ${seed}\n${failure}`)
  process.exitCode = failure === undefined ? 0 : 1
} finally {
  for (const close of closers) await close()
}
