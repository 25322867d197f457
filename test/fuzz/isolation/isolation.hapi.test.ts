import t, { type Test } from 'tap'
import { realBackend } from '../../harness/backend.js'
import { attackWorld } from '../../isolation/attacks.js'
import type { Stores } from '../../isolation/attack-world.js'
import { handOverOnHapi } from '../../isolation/failover.js'
import { sandboxStores } from '../../isolation/sandbox-stores.js'
import { fuzz, type FuzzEffort } from './fuzz.js'

// ISOLATION_SEED=$RANDOM looks elsewhere; `npm run fuzz -- --minutes 60` looks longer.
const seed = Number(process.env.ISOLATION_SEED ?? 4)
const fewest = 500

t.setTimeout(600_000)
t.test('no generated request shows or changes anything of another organization\'s, on the sandbox', async t => {
  t.setTimeout(400_000)
  await fuzzed(t, await sandboxStores(t), { seed, fewest, requests: 50_000, minutes: 1 })
})

t.test("no generated request shows or changes anything of another organization's, on the real FHIR server", async t => {
  t.setTimeout(600_000)
  const stores: Stores = {
    ...(await sandboxStores(t)),
    kind: 'hapi',
    testUrl: realBackend().url,
    handOver: handOverOnHapi
  }
  await fuzzed(t, stores, { seed, fewest, requests: 5_000, minutes: 0.5 })
})

async function fuzzed (t: Test, stores: Stores, effort: FuzzEffort): Promise<void> {
  const { sent, failure } = await fuzz(await attackWorld(t, stores), effort)
  t.comment(`${sent} requests with seed ${effort.seed}`)
  t.equal(failure, undefined, `ISOLATION_SEED=${effort.seed}`)
  t.ok(sent >= effort.fewest, `${sent} requests were sent`)
}
