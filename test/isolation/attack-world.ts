import { randomBytes } from 'node:crypto'
import type { FhirResource } from '../../src/mappings/fhir.js'
import type { TestGateway } from '../harness/gateway.js'
import { createFhirClient, tenantSystem, type FhirServer } from '../harness/fhir-server.js'
import type { Names } from './attacks/attack.js'
import { collectCursors } from './attack-cursors.js'
import {
  buildCrossedObservation, toBinaryData, buildPlantedRecords, plantedTypes, tagOf, type PlantedType, type Planting
} from './planted.js'

/** The gateway's address as clients know it, which is not where it listens. */
export const publicUrl = 'https://gateway.test'

/** The FHIR servers behind the gateway, and how one of them gives a record to another owner, which no client can. */
export interface Stores {
  readonly kind: 'hapi' | 'sandbox'
  readonly testUrl: string
  readonly liveUrl: string
  /** Stores a record whose first version was `former`'s and whose present one is `latter`'s. */
  readonly handOver: (server: FhirServer, former: FhirResource, latter: FhirResource) => Promise<void>
}

/** Two organizations on one FHIR server, and all that can be planted there. */
export interface AttackWorld {
  readonly kind: Stores['kind']
  readonly gateway: TestGateway
  readonly names: Names
  readonly keys: Readonly<Record<string, string | undefined>>
  /** Texts that no response to the attacker may contain. */
  readonly secrets: readonly string[]
  readonly test: FhirServer
  /** Records that no request of the attacker's may change, as `Type/id`. */
  readonly untouchable: readonly string[]
}

/** Ids and marks have one length each, so that responses with them can be compared byte for byte. */
const newId = (): string => `x${randomBytes(15).toString('hex')}`
const newMark = (): string => `Mk${randomBytes(12).toString('hex')}`

const idNames = [
  'own',
  'ownEdit',
  'ownDelete',
  'ownGone',
  'theirs',
  'theirsTwo',
  'theirsGone',
  'liveOnly',
  'liveTwo',
  'untagged',
  'twoTags',
  'lookalike',
  'crossing',
  'intruder',
  'beyond',
  'inherited',
  'unknown'
]
const markNames = [
  'ownMark',
  'theirMark',
  'liveMark',
  'beyondMark',
  'untaggedMark',
  'twoTagsMark',
  'lookalikeMark',
  'intruderCode',
  'hiddenMark',
  'nobodysMark'
]

export async function makeAttackWorld (gateway: TestGateway, stores: Stores): Promise<AttackWorld> {
  const owner = await gateway.createKey()
  const victim = await gateway.createKey()
  const createOwnerKey = async (request: object): Promise<string> =>
    (await gateway.createKey({ tenantId: owner.tenantId, ...request })).secret
  const keys = {
    attacker: owner.secret,
    victim: victim.secret,
    reader: await createOwnerKey({ scopes: ['read'] }),
    writer: await createOwnerKey({ scopes: ['write'] }),
    live: await createOwnerKey({ mode: 'live' })
  }
  const made = Object.fromEntries([
    ...idNames.map(name => [name, newId()]),
    ...markNames.map(name => [name, newMark()])
  ])
  const [test, live] = [createFhirClient(stores.testUrl), createFhirClient(stores.liveUrl)]
  const tenants = { own: tagOf(owner.tenantId), theirs: tagOf(victim.tenantId) }
  const plot = new Plot(made, tenants)
  await plant(plot, { test, live, handOver: stores.handOver })
  await remember(gateway, { key: keys.attacker, id: made.own! })
  const names = {
    ...made,
    ...buildSpellings(made),
    ownTenant: owner.tenantId,
    theirTenant: victim.tenantId,
    ownKey: keys.attacker,
    ownKeyAsLive: keys.attacker.replace('_test_', '_live_'),
    ownData: toBinaryData(made.ownMark!),
    backend: stores.testUrl
  }
  return {
    kind: stores.kind,
    gateway,
    names: { ...names, ...(await collectCursors({ gateway, keys, names, test })) },
    keys,
    secrets: [
      ...secretNames.map(name => made[name]!),
      ...secretMarks.map(name => toBinaryData(made[name]!)),
      victim.tenantId
    ],
    test,
    untouchable: plot.untouchable
  }
}

const secretMarks = ['theirMark', 'liveMark', 'beyondMark', 'untaggedMark', 'twoTagsMark', 'lookalikeMark']
/** Without `beyond`, to which a record of the attacker's refers. */
const secretNames = [
  ...secretMarks,
  'hiddenMark',
  'intruderCode',
  'theirs',
  'theirsTwo',
  'theirsGone',
  'liveOnly',
  'liveTwo',
  'untagged',
  'twoTags',
  'lookalike',
  'intruder'
]

/** The records to store before anything is sent. */
class Plot {
  readonly untouchable: string[] = []
  constructor (
    readonly names: Names,
    readonly tenants: { readonly own: Planting['tags'][number]; readonly theirs: Planting['tags'][number] }
  ) {}

  buildPlanting (id: string, mark: string, tags: Planting['tags']): Planting {
    return {
      id: this.names[id]!,
      mark: this.names[mark]!,
      tags,
      ...(mark === 'theirMark' && { hidden: this.names.hiddenMark! })
    }
  }
}

interface Ground { readonly test: FhirServer, readonly live: FhirServer, readonly handOver: Stores['handOver'] }

async function plant (plot: Plot, { test, live, handOver }: Ground): Promise<void> {
  const { own, theirs } = plot.tenants
  const records = [
    ...buildPlantedRecords(plot.buildPlanting('own', 'ownMark', [own])),
    ...buildPlantedRecords(plot.buildPlanting('ownEdit', 'ownMark', [own]), ['Practitioner', 'Patient']),
    ...buildPlantedRecords(plot.buildPlanting('ownDelete', 'ownMark', [own]), ['Basic']),
    ...buildPlantedRecords(plot.buildPlanting('ownGone', 'ownMark', [own])),
    ...buildPlantedRecords(plot.buildPlanting('theirs', 'theirMark', [theirs])),
    ...buildPlantedRecords(plot.buildPlanting('theirsTwo', 'theirMark', [theirs]), ['Practitioner', 'Patient']),
    ...buildPlantedRecords(plot.buildPlanting('theirsGone', 'theirMark', [theirs])),
    ...buildPlantedRecords(plot.buildPlanting('beyond', 'beyondMark', [theirs]), ['Practitioner', 'Patient']),
    ...buildPlantedRecords(plot.buildPlanting('untagged', 'untaggedMark', [])),
    ...buildPlantedRecords(plot.buildPlanting('twoTags', 'twoTagsMark', [own, theirs]), doubtful),
    ...buildPlantedRecords(
      plot.buildPlanting('lookalike', 'lookalikeMark', [own, { ...theirs, system: tenantSystem.toUpperCase() }]),
      doubtful
    ),
    buildCrossedObservation(plot.buildPlanting('crossing', 'ownMark', [own]), plot.names.beyond!, plot.names.beyond!),
    buildCrossedObservation(plot.buildPlanting('intruder', 'intruderCode', [theirs]), plot.names.own!, plot.names.theirs!)
  ]
  await sendTransaction(test, 'PUT', records)
  await sendTransaction(
    test,
    'PUT',
    records
      .filter(
        ({ resourceType, id }) => resourceType === 'Patient' && [plot.names.ownEdit, plot.names.theirs].includes(id)
      )
      .map(record => ({ ...record, gender: 'other' }))
  )
  const gone = [plot.names.ownGone, plot.names.theirsGone]
  await sendTransaction(test, 'DELETE', records.filter(({ id }) => gone.includes(id)))
  await handOver(test, ...buildInherited(plot))
  await sendTransaction(live, 'PUT', [
    ...buildPlantedRecords(plot.buildPlanting('liveOnly', 'liveMark', [own])),
    ...buildPlantedRecords(plot.buildPlanting('liveTwo', 'liveMark', [own]), ['Practitioner', 'Patient'])
  ])
  const harmed = records.filter(
    ({ meta }) =>
      !(meta?.tag as Planting['tags']).some(({ system, code }) => system === own.system && code === own.code)
  )
  plot.untouchable.push(
    ...[...harmed, ...records.filter(({ id }) => [plot.names.twoTags, plot.names.lookalike].includes(id))].map(
      ({ resourceType, id }) => `${resourceType}/${id}`
    )
  )
}

/**
 * Records that carry the attacker's tag and another one; a search finds them, so there are none of the types that most
 * rows search.
 */
const doubtful: readonly PlantedType[] = ['Flag']

function buildInherited (plot: Plot): [FhirResource, FhirResource] {
  const [before, after] = [
    plot.buildPlanting('inherited', 'theirMark', [plot.tenants.theirs]),
    plot.buildPlanting('inherited', 'ownMark', [plot.tenants.own])
  ].map(planting => buildPlantedRecords(planting, ['Basic'])[0]!)
  return [before!, after!]
}

async function sendTransaction (
  server: FhirServer, method: 'PUT' | 'DELETE', records: readonly FhirResource[]
): Promise<void> {
  const order = (record: FhirResource): number => plantedTypes.indexOf(record.resourceType as PlantedType)
  const sorted = records.toSorted((a, b) => method === 'PUT' ? order(a) - order(b) : order(b) - order(a))
  const entry = sorted.map(record => ({
    ...(method === 'PUT' && { resource: record }),
    request: { method, url: `${record.resourceType}/${record.id}` }
  }))
  const { status, body } = await server.send('POST', '', { resourceType: 'Bundle', type: 'transaction', entry })
  if (status !== 200) throw new Error(`nothing was planted: ${status} ${JSON.stringify(body).slice(0, 2_000)}`)
}

/**
 * The gateway has seen the attacker's records before, as in any real minute; else the first response costs it one
 * look-up more than the next.
 */
async function remember (
  gateway: TestGateway,
  { key, id }: { readonly key: string; readonly id: string }
): Promise<void> {
  for (const type of plantedTypes) {
    await gateway.inject({ method: 'GET', url: `/v1/fhir/${type}/${id}`, headers: { 'x-api-key': key } })
  }
}

function buildSpellings ({ own = '', theirs = '' }: Names): Names {
  const percentEncode = (text: string, percent: string): string =>
    [...text].map(char => `${percent}${char.charCodeAt(0).toString(16)}`).join('')
  return {
    ownEncoded: percentEncode(own, '%'),
    theirsEncoded: percentEncode(theirs, '%'),
    ownEncodedTwice: percentEncode(own, '%25'),
    theirsEncodedTwice: percentEncode(theirs, '%25')
  }
}
