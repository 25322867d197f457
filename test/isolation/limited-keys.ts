/**
 * Keys with random scopes against every kind of request: what a key may not read is never shown, counted or found out,
 * and what it may not write never changes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { Scope } from '../../src/keys/caller.js'
import { may } from '../../src/keys/scopes.js'
import { bulk, openExportWorld, type Exporter, type ExportWorld } from '../jobs/exporting.js'
import { buildBundle, buildEntry, formType, buildPatchEntry, patchType } from '../passthrough/fixture.js'

/** A record of each type, with a text that no other type's records have, and how the simple API calls the type. */
const types = {
  Organization: 'organizations',
  Practitioner: 'practitioners',
  Patient: 'patients',
  Encounter: 'encounters',
  Observation: 'observations',
  Group: undefined
} as const
type Type = keyof typeof types
const typeNames = Object.keys(types) as Type[]

const marker = (type: string): string => `Marker${type}x`
const tag = (type: string) => ({ meta: { tag: [{ system: 'urn:marker', code: marker(type) }] } })

/** In the order in which they refer to each other. */
const contents: Record<Type, (ids: Partial<Record<Type, string>>) => object> = {
  Organization: () => ({ name: marker('Organization') }),
  Practitioner: () => ({ name: [{ family: marker('Practitioner') }] }),
  Patient: ids => ({
    name: [{ family: marker('Patient') }],
    managingOrganization: { reference: `Organization/${ids.Organization}` },
    generalPractitioner: [{ reference: `Practitioner/${ids.Practitioner}` }]
  }),
  Encounter: ids => ({
    status: 'finished',
    class: { code: 'AMB', display: marker('Encounter') },
    subject: { reference: `Patient/${ids.Patient}` },
    serviceProvider: { reference: `Organization/${ids.Organization}` }
  }),
  Observation: ids => ({
    status: 'final',
    code: { text: marker('Observation') },
    subject: { reference: `Patient/${ids.Patient}` },
    encounter: { reference: `Encounter/${ids.Encounter}` },
    performer: [{ reference: `Practitioner/${ids.Practitioner}` }]
  }),
  Group: ids => ({
    type: 'person',
    actual: true,
    name: marker('Group'),
    member: [{ entity: { reference: `Patient/${ids.Patient}` } }]
  })
}

type Ids = Record<Type, string>

async function storeAll (all: Exporter): Promise<Ids> {
  const ids: Partial<Ids> = {}
  for (const type of typeNames) {
    const made = await all.send('POST', `/${type}`, { resourceType: type, ...tag(type), ...contents[type](ids) })
    if (made.status !== 201) throw new Error(`${type}: ${made.status} ${made.text}`)
    ids[type] = made.resource.id
  }
  return ids as Ids
}

/** How a key would send something, and where the response shows records: in FHIR or in the simple form. */
interface Attack {
  readonly name: string
  readonly form: 'fhir' | 'simple'
  readonly send: (key: Exporter) => Promise<{ readonly status: number, readonly text: string }>
  /** What the key must be able to read for anything but a refusal. */
  readonly reads?: readonly Type[]
}

type RawAttack = [...Parameters<Exporter['send']>, reads?: Type[]]
const rawAttack = (...[method, path, body, headers, reads]: RawAttack): Attack => ({
  name: `${method} ${path} ${JSON.stringify(body)?.slice(0, 120) ?? ''}`,
  form: 'fhir',
  send: async key => await key.send(method, path, body, headers),
  ...reads && { reads }
})
const simpleAttack = (method: string, path: string, body?: unknown, form: Attack['form'] = 'simple'): Attack => ({
  name: `${method} ${path} of the simple API`,
  form,
  send: async key => await key.sendSimple(method, path, body)
})

const returnRepresentation = { prefer: 'return=representation' }

/** Every way to records of a type. */
function buildTypeAttacks (type: Type, ids: Ids): Attack[] {
  const url = `${type}/${ids[type]}`
  const resource = { resourceType: type, ...contents[type](ids) }
  const criteria = `_tag=urn:marker|${marker(type)}`
  const test = [{ op: 'test', path: '/id', value: ids[type] }]
  const path = types[type]
  const reads: Type[] = [type]
  return [
    rawAttack('GET', `/${url}`, undefined, {}, reads),
    rawAttack('HEAD', `/${url}`, undefined, {}, reads),
    rawAttack('GET', `/${url}/_history`, undefined, {}, reads),
    rawAttack('GET', `/${url}/_history/1`, undefined, {}, reads),
    rawAttack('GET', `/${type}?_summary=count`, undefined, {}, reads),
    rawAttack('GET', `/${type}?_elements=id`, undefined, {}, reads),
    rawAttack('POST', `/${type}/_search`, criteria, formType, reads),
    rawAttack('POST', `/${type}/$validate`, resource, {}, reads),
    rawAttack('POST', '', buildBundle('batch', buildEntry('GET', url), buildEntry('GET', `${type}?${criteria}`), buildEntry('DELETE', url))),
    rawAttack('POST', '', buildBundle('transaction', buildEntry('GET', url)), {}, reads),
    rawAttack('POST', '', buildBundle('batch', buildPatchEntry(url, []), buildPatchEntry(url, test)), returnRepresentation),
    rawAttack('POST', '', buildBundle('transaction', buildPatchEntry(url, [])), returnRepresentation),
    rawAttack('POST', '', buildBundle('transaction', buildEntry('PUT', `${type}?${criteria}`, resource)), returnRepresentation, reads),
    rawAttack('POST', '', buildBundle('batch', buildEntry('POST', type, resource, { ifNoneExist: criteria })), returnRepresentation),
    rawAttack('PUT', `/${url}`, resource, returnRepresentation),
    rawAttack('PATCH', `/${url}`, [], { ...patchType, ...returnRepresentation }),
    rawAttack('PATCH', `/${url}`, test, patchType, reads),
    rawAttack('PATCH', `/${type}?${criteria}`, [], { ...patchType, ...returnRepresentation }, reads),
    rawAttack('POST', `/${type}`, resource, { 'if-none-exist': criteria, ...returnRepresentation }, reads),
    rawAttack('DELETE', `/${type}?${criteria}&_id=none`, undefined, {}, reads),
    ...path === undefined
      ? []
      : [
          simpleAttack('GET', `/${path}`),
          simpleAttack('GET', `/${path}?count=1`),
          simpleAttack('GET', `/${path}/${ids[type]}`),
          simpleAttack('PATCH', `/${path}/${ids[type]}`, {}),
          simpleAttack('PATCH', `/${path}/${ids[type]}`, [{ op: 'test', path: '/id', value: ids[type] }]),
          simpleAttack('GET', `/${path}/${ids[type]}?_revinclude=Provenance:target`, undefined, 'fhir')
        ]
  ]
}

/** Ways from records of one type to others. */
function buildCrossTypeAttacks (ids: Ids): Attack[] {
  const criteriaReference = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: `Patient?_tag=urn:marker|${marker('Patient')}` }
  }
  return [
    rawAttack('GET', '/Observation?_include=Observation:subject&_include=Observation:encounter&_include=Observation:performer'),
    rawAttack('GET', '/Observation?_include=Observation:encounter&_include:iterate=Encounter:service-provider'),
    rawAttack('GET', `/Patient?_id=${ids.Patient}&_revinclude=Observation:subject&_revinclude=Encounter:subject&_revinclude=Group:member`),
    rawAttack('GET', '/Observation?subject:Patient.family=Marker', undefined, {}, ['Observation', 'Patient']),
    rawAttack('GET', '/Observation?encounter.class=AMB', undefined, {}, ['Observation', 'Encounter']),
    rawAttack('GET', '/Patient?_has:Observation:subject:status=final', undefined, {}, ['Patient', 'Observation']),
    rawAttack('GET', '/Patient?_has:Group:member:type=person', undefined, {}, ['Patient', 'Group']),
    rawAttack('GET', `/Patient/${ids.Patient}/Observation`, undefined, {}, ['Patient', 'Observation']),
    rawAttack('GET', `/Patient/${ids.Patient}/$everything`, undefined, {}, ['Patient']),
    rawAttack('GET', `/Patient/${ids.Patient}/$everything?_type=Observation`, undefined, {}, ['Patient', 'Observation']),
    rawAttack('POST', '', buildBundle('transaction', buildEntry('POST', 'Observation', criteriaReference)), returnRepresentation, ['Patient']),
    rawAttack('POST', '', buildBundle('batch', buildEntry('GET', 'Observation?subject:Patient.family=Marker&_summary=count'))),
    simpleAttack('GET', `/patients/${ids.Patient}?include=observations,encounters`),
    simpleAttack('GET', `/patients/${ids.Patient}?_revinclude=Observation:subject`, undefined, 'fhir'),
    simpleAttack('GET', `/observations/${ids.Observation}?_include=Observation:subject`, undefined, 'fhir')
  ]
}

/** Exports and imports: their statuses, lists and files, also those of another key's jobs. */
function buildJobAttacks (jobIds: readonly string[]): Attack[] {
  const download = (format: 'fhir' | 'simple', resourceTypes?: readonly string[]): Attack => ({
    name: `an export as ${format} of ${resourceTypes?.join() ?? 'everything'}`,
    form: format,
    send: async key => {
      const begun = await key.sendSimple('POST', '/bulk/export', { format, ...resourceTypes && { resourceTypes } })
      if (begun.status !== 202) return begun
      return { status: 200, text: await fetchFiles(key, begun.body.data.jobId) }
    }
  })
  return [
    download('fhir'),
    download('simple'),
    ...typeNames.map(type => download('fhir', [type])),
    download('simple', ['observations']),
    rawAttack('GET', '/Group/$export?_type=Patient', undefined, bulk),
    ...jobIds.flatMap(id => [
      simpleAttack('GET', `/bulk/jobs/${id}`, undefined, 'fhir'),
      simpleAttack('GET', `/bulk/jobs/${id}/files/Patient.ndjson`, undefined, 'fhir'),
      simpleAttack('GET', `/bulk/jobs/${id}/results`, undefined, 'fhir'),
      simpleAttack('DELETE', `/bulk/jobs/${id}`, undefined, 'fhir'),
      rawAttack('GET', `/_export/${id}`)
    ]),
    simpleAttack('GET', '/bulk/jobs', undefined, 'fhir')
  ]
}

async function fetchFiles (key: Exporter, id: string): Promise<string> {
  const job = await waitForJob(key, id)
  const texts = await Promise.all(
    job.files.map(async ({ url }: { url: string }) => (await key.sendSimple('GET', new URL(url).pathname.slice('/v1'.length))).text)
  )
  return [JSON.stringify(job), ...texts].join('\n')
}

async function waitForJob (key: Exporter, id: string): Promise<any> {
  for (let tries = 0; tries < 600; tries++) {
    const { status, body } = await key.sendSimple('GET', `/bulk/jobs/${id}`)
    if (status !== 200) throw new Error(`the key that began a job does not see it: ${status}`)
    if (['completed', 'failed'].includes(body.data.status)) return body.data
    await pause(50)
  }
  throw new Error('the job does not end')
}

const scopeList = fc.uniqueArray(
  fc
    .tuple(
      fc.constantFrom(...typeNames).chain(type => fc.constantFrom(`fhir/${type}`, types[type] ?? `fhir/${type}`)),
      fc.constantFrom('read', 'write', '*')
    )
    .map(parts => parts.join(':') as Scope),
  { minLength: 1, maxLength: 5 }
)

/** Every type's records with their versions, as a key without limits sees them. */
async function listVersions (all: Exporter, type: Type): Promise<readonly string[]> {
  const { resource } = await all.send('GET', `/${type}?_count=200`)
  return (resource.entry ?? []).map((item: any) => `${item.resource.id} ${item.resource.meta.versionId}`).sort()
}

/** Runs the attacks with a known key and this many random ones. */
export async function attackByLimitedKeys (
  t: Test,
  where: { readonly url: string; readonly server: ExportWorld['server'] },
  numRuns: number
): Promise<void> {
  const world = await openExportWorld(t, where)
  const all = await world.join()
  const ids = await storeAll(all)
  const ofAll = await all.sendSimple('POST', '/bulk/export', {})
  const imported = await all.sendSimple('POST', '/bulk/import', { data: '{"familyName":"x"}', resourceType: 'patients', dryRun: true })
  const jobIds = [ofAll.body.data.jobId, imported.body.data.jobId]
  for (const id of jobIds) await waitForJob(all, id)
  t.match(await fetchFiles(all, jobIds[0]), marker('Patient'), 'a key without limits exports')
  const attacks = [
    ...typeNames.flatMap(type => buildTypeAttacks(type, ids)),
    ...buildCrossTypeAttacks(ids),
    ...buildJobAttacks(jobIds)
  ]
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.comment(`seed ${seed}`)
  let found = 0
  const known: readonly Scope[] = ['fhir/Patient:*', 'fhir/Encounter:read', 'observations:read']
  if (world.server === 'hapi') {
    const { send } = await world.join({ tenantId: all.tenantId, scopes: known })
    const { resource } = await send('GET', `/Patient/${ids.Patient}/$everything`)
    const returnedTypes = resource.entry.map((each: any) => each.resource.resourceType)
    t.same(returnedTypes.sort(), ['Encounter', 'OperationOutcome', 'Patient'])
  }
  for (const scopes of [known, ...fc.sample(scopeList, { numRuns, seed })]) {
    const key = await world.join({ tenantId: all.tenantId, scopes })
    const before = await Promise.all(typeNames.map(type => listVersions(all, type)))
    for (const attack of attacks) found += await runKeyAttack(t, key, { scopes, attack })
    await importAll(t, key, scopes)
    for (const [at, type] of typeNames.entries()) {
      if (!may(scopes, 'write', { type })) t.same(await listVersions(all, type), before[at], `${scopes.join()}: ${type}`)
    }
  }
  t.ok(found > 20, 'the keys see what they may')
}

/** @returns how many records the key was rightly shown */
async function runKeyAttack (
  t: Test,
  key: Exporter,
  { scopes, attack }: { readonly scopes: readonly Scope[]; readonly attack: Attack }
): Promise<number> {
  const { name, form, send, reads = [] } = attack
  const { status, text } = await send(key)
  const message = `${scopes.join()}: ${name} was answered with ${status} ${text.slice(0, 600)}`
  if (status >= 500 && status !== 501) t.fail(message)
  let found = 0
  for (const type of typeNames) {
    const isOpen = may(scopes, 'read', form === 'fhir' ? { fhirType: type } : { type })
    if (text.includes(marker(type))) {
      found++
      if (!isOpen) t.fail(message)
    }
    if (reads.includes(type) && !isOpen && status !== 403) t.fail(message)
  }
  return found
}

/** A line of each type, raw and simple: lines that the key may not write fail, and the others do not. */
async function importAll (t: Test, key: Exporter, scopes: readonly Scope[]): Promise<void> {
  const lines = [
    { resourceType: 'Organization', name: 'imported' },
    { resourceType: 'Practitioner', name: [{ family: 'imported' }] },
    { resourceType: 'Patient', name: [{ family: 'imported' }] }
  ]
  const begun = await key.sendSimple('POST', '/bulk/import', { data: lines.map(line => JSON.stringify(line)).join('\n') })
  const isOpen = may(scopes, 'write', 'any')
  t.equal(begun.status, isOpen ? 202 : 403, `${scopes.join()}: an import`)
  if (!isOpen || !may(scopes, 'read', 'any')) return
  const { failedRecords, errors } = await waitForJob(key, begun.body.data.jobId)
  const refused = lines.filter(({ resourceType }) => !may(scopes, 'write', { fhirType: resourceType })).length
  t.equal(failedRecords, refused, `${scopes.join()}: ${JSON.stringify(errors)}`)
}
