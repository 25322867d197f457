import t, { type Test } from 'tap'
import { requireRealBackend } from '../../harness/backend.js'
import { startAttackWorld } from '../../isolation/attacks.js'
import type { Stores } from '../../isolation/attack-world.js'
import { handOverOnHapi } from '../../isolation/failover.js'
import { startSandboxStores } from '../../isolation/sandbox-stores.js'
import { fuzz, type FuzzEffort } from './fuzz.js'

// ISOLATION_SEED=$RANDOM uses another seed; `npm run fuzz -- --minutes 60` runs longer.
const seed = Number(process.env.ISOLATION_SEED ?? 4)
const minRequests = 500

t.setTimeout(600_000)
t.test('no generated request reads or changes anything of another organization, on the sandbox', async t => {
  t.setTimeout(400_000)
  await runFuzz(t, await startSandboxStores(t), { seed, minRequests, requests: 50_000, minutes: 1 })
})

t.test('no generated request reads or changes anything of another organization, on the real FHIR server', async t => {
  t.setTimeout(600_000)
  const stores: Stores = {
    ...(await startSandboxStores(t)),
    kind: 'hapi',
    testUrl: requireRealBackend().url,
    handOver: handOverOnHapi
  }
  await runFuzz(t, stores, { seed, minRequests, requests: 5_000, minutes: 0.5 })
})

async function runFuzz (t: Test, stores: Stores, effort: FuzzEffort): Promise<void> {
  const { sent, failure } = await fuzz(await startAttackWorld(t, stores), effort)
  t.comment(`${sent} requests with seed ${effort.seed}`)
  t.equal(failure, undefined, `ISOLATION_SEED=${effort.seed}`)
  t.ok(sent >= effort.minRequests, `${sent} requests were sent`)
}
