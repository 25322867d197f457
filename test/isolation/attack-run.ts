/**
 * The attacks without a test runner: prints each finding. `--first` stops at the first one; names of sections choose
 * among them, or with `--all` say which come first; `--hapi` names a FHIR server in place of the sandbox. Ends with 1
 * when there was a finding, with 2 when the attacks could not be sent.
 */
import { parseArgs } from 'node:util'
import { startAttackWorld } from './attacks.js'
import { attacks } from './attacks/index.js'
import { runAttack, readUntouchableState, checkOwnRecords, type Finding } from './run-attacks.js'
import { startSandboxStores } from './sandbox-stores.js'
import type { AttackWorld, Stores } from './attack-world.js'
import { handOverOnHapi } from './failover.js'

const options = {
  first: { type: 'boolean', default: false },
  all: { type: 'boolean', default: false },
  hapi: { type: 'string' }
} as const
const { values: { first, all, hapi }, positionals } = parseArgs({ options, allowPositionals: true })
const closers: Array<() => unknown> = []
const t = { after: (close: () => unknown) => { closers.unshift(close) } } as never

async function * runSections (world: AttackWorld): AsyncGenerator<Finding> {
  const others =
    all || positionals.length === 0 ? Object.keys(attacks).filter(name => !positionals.includes(name)) : []
  for (const name of [...positionals, ...others]) {
    const section = attacks[name]!
    const before = await readUntouchableState(world)
    for (const attack of section) yield await runAttack(world, attack)
    if (await readUntouchableState(world) !== before) yield { attack: { row: name, send: 'the section as a whole', status: 0 }, problems: ['what is another\'s was changed'] }
  }
  yield { attack: { row: 'at the end', send: 'what the attacker stored', status: 0 }, problems: await checkOwnRecords(world) }
}

async function openStores (): Promise<Stores> {
  const sandbox = await startSandboxStores(t)
  return hapi === undefined ? sandbox : { ...sandbox, kind: 'hapi', testUrl: hapi, handOver: handOverOnHapi }
}

async function run (): Promise<number> {
  let found = 0
  for await (const { attack, problems } of runSections(await startAttackWorld(t, await openStores()))) {
    if (problems.length === 0) continue
    found++
    console.log(
      `${attack.row}: ${attack.send.slice(0, 120)}\n  ${problems.map(problem => problem.slice(0, 400)).join('\n  ')}`
    )
    if (first) break
  }
  return found
}

try {
  process.exitCode = await run() > 0 ? 1 : 0
} catch (error) {
  console.log(`the attacks could not be sent: ${(error as Error).message}`)
  process.exitCode = 2
} finally {
  for (const close of closers) await close()
}
