import { printJson } from '../../src/json/json.js'
import { listVariants, type Attack } from './attacks/attack.js'
import { findProblems, formatComparable } from './attack-judge.js'
import { sendAttack, type Outcome } from './attack-sender.js'
import type { AttackWorld } from './attack-world.js'

/** A row of the table and the problems of its requests; empty when there are none. */
export interface Finding { readonly attack: Attack, readonly problems: readonly string[] }

let sentSoFar = 0

/** Sends every variant of a row and compares the responses with the expected ones, and with each other. */
export async function runAttack (world: AttackWorld, attack: Attack): Promise<Finding> {
  if (attack.on !== undefined && attack.on !== world.kind) return { attack, problems: [] }
  const outcomes: Array<{ readonly variant: string, readonly outcome: Outcome, readonly id: string }> = []
  const problems: string[] = []
  for (const { variant, attack: filled } of listVariants(attack, world.names)) {
    const id = `attack-${++sentSoFar}`
    const outcome = await sendAttack(world, filled, id)
    outcomes.push({ variant, outcome, id })
    problems.push(...findProblems(world, filled, outcome).map(problem => `${describeVariant(world, variant)}${problem}`))
  }
  const [first, ...others] = outcomes
  for (const { variant, outcome } of others) {
    const [a, b] = [formatComparable(first!.outcome, first!.variant), formatComparable(outcome, variant)]
    if (a !== b) {
      problems.push(`${describeVariant(world, variant)}tells itself from ${describeVariant(world, first!.variant)}${b} in place of ${a}`)
    }
  }
  problems.push(...checkLog(world, attack, outcomes.map(({ id }) => id)))
  return { attack, problems }
}

const describeVariant = ({ names }: AttackWorld, variant: string): string =>
  variant === '' ? '' : `${Object.entries(names).find(([, value]) => value === variant)?.[0]}: `

/** The log names no record and no other tenant; it has an incident only where the row says so. */
function checkLog (
  { gateway, names, secrets }: AttackWorld,
  { as, incident }: Attack,
  ids: readonly string[]
): string[] {
  if (as === 'victim') return []
  // The other's own requests may well name it.
  const lines = gateway.readNewLines().filter(line => !line.includes(`"tenantId":"${names.theirTenant}"`))
  const own = [names.own!, names.ownEdit!, names.ownMark!, names.ownKey!]
  return lines.flatMap(line => [
    ...[...secrets, ...own]
      .filter(text => withoutRequestId(line).includes(text))
      .map(text => `the log shows ${Object.entries(names).find(([, value]) => value === text)?.[0] ?? 'a secret'}`),
    ...(line.includes('"incident"') && incident !== true && ids.some(id => line.includes(`"${id}"`))
      ? ['an incident is reported']
      : [])
  ])
}

/** Who gives a request its id chooses what the log calls it. */
const withoutRequestId = (line: string): string => line.replace(/"requestId":"[^"]*"/, '')

/** The records that no request of the attacker's may change, with all their versions, straight from the datastore. */
export async function readUntouchableState ({ test, untouchable, names }: AttackWorld): Promise<string> {
  const histories = await Promise.all(untouchable.map(async record => {
    const { status, body } = await test.send('GET', `${record}/_history?_count=100`)
    return printJson([
      record,
      status,
      (body.entry ?? []).map(({ resource, request }: Record<string, unknown>) => [resource, request])
    ])
  }))
  const tagged = await Promise.all(
    ['Patient', 'Observation', 'Flag', 'Basic'].map(async type =>
      (await test.fetchTagged(names.theirTenant!, type)).map(({ id, meta }) => `${type}/${id}/${meta.versionId}`).sort()
    )
  )
  return [...histories, ...tagged.flat()].join('\n')
}

/**
 * What the attacker wrote during the attacks: each record has one tag of the tenant system, its own, and holds no id of
 * another's.
 */
export async function checkOwnRecords ({ test, names, secrets }: AttackWorld): Promise<string[]> {
  const known = new Set([names.crossing, names.twoTags, names.lookalike])
  const types = [
    'Patient',
    'Practitioner',
    'Observation',
    'Encounter',
    'Flag',
    'List',
    'Basic',
    'Bundle',
    'Binary',
    'QuestionnaireResponse',
    'Provenance',
    'Group',
    'Task',
    'DocumentReference',
    'Media',
    'Composition'
  ]
  const stored = (await Promise.all(types.map(type => test.fetchTagged(names.ownTenant!, type)))).flat()
  return stored.filter(({ id }) => !known.has(id)).flatMap(record => {
    const recordReference = `${record.resourceType}/${record.id}`
    const tenantTags = (record.meta.tag ?? []).filter(
      ({ system }) => system?.trim().toLowerCase() === 'urn:clinigate:tenant'
    )
    // A uri that begins otherwise is a text like any other, which no server follows to a record.
    const references = [
      ...printJson(record).matchAll(
        /"(?:reference|(?:url|questionnaire)(?=":"(?:[A-Z]\w+\/|http:\/\/127)))":"([^"]*)"/g
      )
    ].map(([, text]) => text!)
    return [
      ...(tenantTags.length === 1 && tenantTags[0]!.code === names.ownTenant
        ? []
        : [`${recordReference} carries ${JSON.stringify(tenantTags)}`]),
      ...references
        .filter(text =>
          secrets.some(secret => text.endsWith(`/${secret}`) && text !== `http://q.example/${names.theirMark}`)
        )
        .map(text => `${recordReference} refers to ${text}`)
    ]
  })
}
