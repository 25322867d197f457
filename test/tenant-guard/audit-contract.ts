import type { Test } from 'tap'
import { decorateBackend } from '../../src/backends/decorate.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import { scanAll } from '../../src/operator/ownership-scan/scan.js'
import { newTenant } from './guarded.js'
import { runAudit, openExistingServer, createOperatorBackend, tenantSystem } from './operator.js'

const patient: FhirResource = { resourceType: 'Patient' }
const observation = (subject: string, more: object = {}): FhirResource =>
  ({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: subject }, ...more })
const toReference = ({ resourceType, id }: StoredResource): string => `${resourceType}/${id}`

/**
 * What an audit must find on any FHIR server. Other tests may use the server meanwhile.
 * @param many records of a large scan
 */
export async function auditContract (t: Test, baseUrl: string, many: number): Promise<void> {
  const backend = createOperatorBackend(baseUrl)
  t.teardown(() => backend.close())

  await t.test(
    'an audit finds each record without one clear tenant, and nothing wrong with one that has it',
    async t => {
      const [a, b] = [newTenant(), newTenant()]
      const server = openExistingServer(baseUrl)
      const none = await server.plant(patient)
      const idempotencyTagged = await server.plant(patient, [`${tenantSystem}:idempotency`, 'k1'])
      const two = await server.plant(patient, [tenantSystem, a], [tenantSystem, b])
      const upper = await server.plant(patient, [tenantSystem.toUpperCase(), a])
      const alike = await server.plant(patient, [tenantSystem, a], [`${tenantSystem}\u200b`, b])
      const clean = [
        await server.plant(patient, [tenantSystem, a]),
        await server.plant(patient, [tenantSystem, b], [`${tenantSystem}:idempotency`, 'k1'])
      ]
      const found = await runAudit(backend, ['Patient'])
      t.same(
        filterFindings(found, [none, idempotencyTagged, two, upper, alike, ...clean]),
        [
          `no-tag ${toReference(none)}`,
          `no-tag ${toReference(idempotencyTagged)}`,
          `several-tags ${toReference(two)}`,
          `unclear-tag ${toReference(upper)}`,
          `several-tags ${toReference(alike)}`
        ].sort()
      )
    }
  )

  await t.test('an audit finds each reference of a tenant to what is not its own', async t => {
    const [a, b] = [newTenant(), newTenant()]
    const server = openExistingServer(baseUrl)
    const [own, foreign, untagged] = [
      await server.plant(patient, [tenantSystem, a]),
      await server.plant(patient, [tenantSystem, b]),
      await server.plant(patient)
    ]
    const clean = await server.plant(observation(toReference(own), { derivedFrom: undefined }), [tenantSystem, a])
    const crossing = await server.plant(observation(toReference(foreign)), [tenantSystem, a])
    const toUntagged = await server.plant(observation(toReference(untagged)), [tenantSystem, a])
    const inExtension = await server.plant(
      observation(toReference(own), {
        extension: [{ url: 'http://x.example', valueReference: { reference: toReference(foreign) } }]
      }),
      [tenantSystem, a]
    )
    // The servers do not check contained resources when they store them.
    const contained = (to: string): object => ({
      contained: [{ ...observation(to), id: 'c' }],
      hasMember: [{ reference: '#c' }]
    })
    const dangling = await server.plant(observation(toReference(own), contained('Patient/never-was')), [tenantSystem, a])
    const absolute = await server.plant(
      observation(toReference(own), contained('https://other.example/fhir/Patient/1')),
      [tenantSystem, a]
    )
    const untaggedReferrer = await server.plant(observation(toReference(foreign)))
    const found = await runAudit(backend, ['Patient', 'Observation'])
    t.same(
      filterFindings(found, [own, clean, crossing, toUntagged, inExtension, dangling, absolute, untaggedReferrer]),
      [
        `foreign-reference ${toReference(crossing)} Observation.subject ${toReference(foreign)} ${a} ${b}`,
        `untagged-reference ${toReference(toUntagged)} Observation.subject ${toReference(untagged)} ${a} -`,
        `foreign-reference ${toReference(inExtension)} Observation.extension[0].valueReference ${toReference(foreign)} ${a} ${b}`,
        `dangling-reference ${toReference(dangling)} Observation.contained[0].subject Patient/never-was ${a} -`,
        `outside-reference ${toReference(absolute)} Observation.contained[0].subject - ${a} -`,
        `no-tag ${toReference(untaggedReferrer)}`
      ].sort(),
      'and references of an untagged record belong to no tenant'
    )
  })

  await t.test('an audit of one type looks up the records of others', async t => {
    const [a, b] = [newTenant(), newTenant()]
    const server = openExistingServer(baseUrl)
    const [own, foreign] = [
      await server.plant(patient, [tenantSystem, a]),
      await server.plant(patient, [tenantSystem, b])
    ]
    const [clean, crossing] = [
      await server.plant(observation(toReference(own)), [tenantSystem, a]),
      await server.plant(observation(toReference(foreign)), [tenantSystem, a])
    ]
    t.same(filterFindings(await runAudit(backend, ['Observation']), [clean, crossing]), [
      `foreign-reference ${toReference(crossing)} Observation.subject ${toReference(foreign)} ${a} ${b}`
    ])
  })

  await t.test('a reference that came or went while the audit ran is no finding', async t => {
    const a = newTenant()
    const server = openExistingServer(baseUrl)
    const own = await server.plant(patient, [tenantSystem, a])
    const stray = await server.plant(observation(toReference(await server.plant(patient))), [tenantSystem, a])
    let added: StoredResource | undefined
    // Patients were scanned before observations, so the one that this refers to was not met.
    const whileWalking = once(async () => {
      added = await server.plant(observation(toReference(await server.plant(patient, [tenantSystem, a]))), [
        tenantSystem,
        a
      ])
    })
    const afterWalking = once(async () => {
      await server.send('PUT', toReference(stray), { ...stray, subject: { reference: toReference(own) } })
    })
    const watched = decorateBackend(backend, {
      send: async request => {
        if (request.path.startsWith('Observation?_sort')) await whileWalking()
        if (request.path.startsWith('Observation?_id')) await afterWalking()
        return backend.send(request)
      }
    })
    const found = await runAudit(watched, ['Patient', 'Observation'])
    t.same(filterFindings(found, [added!, stray]), [])
  })

  await t.test(
    `a scan of ${many} records in small pages meets each record that stays, while others write`,
    { timeout: 600_000 },
    async t => {
      const server = openExistingServer(baseUrl)
      await server.plantAll(Array.from({ length: many }, (_, at) => ({ ...patient, name: [{ family: `F${at}` }] })))
      const before = await server.listAll('Patient')
      t.equal(before.length, many)
      const seen = new Map<string, number>()
      let pages = 0
      const removed = new Set<string>()
      const criteria = [['_tag', `urn:test:batch|${server.batch}`]] as const
      for await (const records of scanAll({
        send: request => backend.send(request),
        baseUrl: backend.baseUrl,
        type: 'Patient',
        criteria,
        pageSize: Math.ceil(many / 28)
      })) {
        for (const { id } of records) seen.set(id, (seen.get(id) ?? 0) + 1)
        if (pages++ % 5 !== 2) continue
        // Some behind and some ahead are deleted, changed and made.
        for (const [at, { id }] of before.entries()) {
          if (at % 400 === pages % 400) {
            await server.send('DELETE', `Patient/${id}`)
            removed.add(id)
          }
          if (at % 400 === (pages + 200) % 400 && !removed.has(id)) {
            await server.send('PUT', `Patient/${id}`, {
              ...(await server.read('Patient', id)),
              active: pages % 2 === 0
            })
          }
        }
        await server.plant(patient)
      }
      t.ok(pages > 20)
      t.ok(removed.size > 0)
      t.same(
        before.filter(({ id }) => !seen.has(id) && !removed.has(id)),
        []
      )
      t.ok([...seen.values()].reduce((sum, count) => sum + count) < many * 1.2, 'and few of them twice')
    }
  )
}

function once (work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}

/** The findings about these records alone, sorted: the server may hold others'. */
function filterFindings (found: readonly string[], records: readonly StoredResource[]): string[] {
  const names = new Set(records.map(toReference))
  return found.filter(line => names.has(line.split(' ')[1]!)).sort()
}
