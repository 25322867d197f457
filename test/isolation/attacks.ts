import type { Test } from 'tap'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { attacks } from './attacks/index.js'
import { snapshotBuiltIns } from './built-ins.js'
import { makeAttackWorld, publicUrl, type AttackWorld, type Stores } from './attack-world.js'
import { runAttack, readUntouchableState, checkOwnRecords } from './run-attacks.js'

/** A gateway with two organizations in one FHIR server, where everything that can be planted is. */
export async function startAttackWorld (t: Pick<Test, 'after'>, stores: Stores): Promise<AttackWorld> {
  const gateway = await startGateway(t as Test, {
    environment: { FHIR_TEST_URL: stores.testUrl, FHIR_LIVE_URL: stores.liveUrl, PUBLIC_URL: publicUrl },
    plans: unlimitedPlans
  })
  return makeAttackWorld(gateway, stores)
}

/**
 * Sends every attack of the table, and requires that no response, log line or record of the datastore shows or changes
 * anything of another tenant.
 */
export async function attackAll (t: Test, stores: Stores, sections = attacks): Promise<void> {
  const world = await startAttackWorld(t, stores)
  for (const [name, section] of Object.entries(sections)) {
    await t.test(name, async t => {
      const [before, shared] = [await readUntouchableState(world), snapshotBuiltIns()]
      for (const attack of section) {
        const { problems } = await runAttack(world, attack)
        t.strictSame(problems, [], `${attack.row}: ${attack.send.slice(0, 100)}`)
      }
      t.equal(await readUntouchableState(world), before, 'what is another\'s is as it was, with all its versions')
      t.ok(snapshotBuiltIns() === shared, 'what all tenants share in the process is as it was')
    })
  }
  t.strictSame(
    await checkOwnRecords(world),
    [],
    "what the attacker stored is the attacker's alone and leads to nothing else"
  )
}
