import type { Test } from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import { startWatched } from '../harness/recording-backend.js'
import { newTenant } from './guarded.js'
import { runAdoption, openExistingServer, createOperatorBackend, listTags, tenantSystem } from './operator.js'

const patient: FhirResource = { resourceType: 'Patient' }
const observation = (subject: string, more: object = {}): FhirResource =>
  ({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: subject }, ...more })
const toReference = ({ resourceType, id }: StoredResource): string => `${resourceType}/${id}`

/**
 * What an adoption must do on any FHIR server. Other tests may use the server meanwhile.
 * @param many records of a large scan
 */
export async function adoptContract (t: Test, baseUrl: string, many: number): Promise<void> {
  const backend = createOperatorBackend(baseUrl)
  t.teardown(() => backend.close())
  await testAlone(t, baseUrl)
  await testConcurrentChanges(t, baseUrl)

  await t.test('a dry run says what would be adopted and writes nothing', async t => {
    const server = openExistingServer(baseUrl)
    const records = [await server.plant(patient), await server.plant(patient, [tenantSystem, newTenant()])]
    const { states } = await runAdoption(backend, newTenant(), server.search('Patient'), { isDryRun: true })
    t.same(Object.values(states).sort(), ['adopted', 'foreign'])
    for (const record of records) t.same(await server.read('Patient', record.id), record)
  })

  await t.test(`of ${many} records each is adopted, and written once`, { timeout: 600_000 }, async t => {
    const server = openExistingServer(baseUrl)
    await server.plantAll(Array.from({ length: many }, (_, at) => ({ ...patient, name: [{ family: `F${at}` }] })))
    const tenant = newTenant()
    const { states } = await runAdoption(backend, tenant, server.search('Patient'), { pageSize: Math.ceil(many / 18) })
    t.same([Object.keys(states).length, ...new Set(Object.values(states))], [many, 'adopted'])
    const stored = await server.listAll('Patient')
    t.equal(stored.length, many)
    t.same(
      stored.filter(record => record.meta.versionId !== '2' || !listTags(record).includes(`${tenantSystem}|${tenant}`)),
      []
    )
  })
}

async function testAlone (t: Test, baseUrl: string): Promise<void> {
  const backend = createOperatorBackend(baseUrl)
  t.teardown(() => backend.close())

  await t.test(
    "an adopted record has the tenant's tag in addition to its own and is the same in all else, its numbers to the letter",
    async t => {
      const server = openExistingServer(baseUrl)
      const meta = {
        profile: ['http://example.org/p'],
        security: [{ system: 'http://s.example', code: 'R' }],
        tag: [{ system: 'http://ward.example', code: '3', display: 'Ward' }]
      }
      const subject = await server.plant(patient)
      const before = await server.plant(
        observation(toReference(subject), {
          meta,
          valueQuantity: { value: new ExactNumber('1.10'), unit: 'mg' },
          extension: [{ url: 'http://x.example', valueString: 'Ü\u2028 "' }],
          _effectiveDateTime: { extension: [{ url: 'http://x.example/unknown', valueCode: 'unknown' }] },
          contained: [{ resourceType: 'Device', id: 'd' }],
          device: { reference: '#d' }
        })
      )
      const tenant = newTenant()
      const { states } = await runAdoption(backend, tenant, server.search('Observation'))
      t.same(states, { [toReference(before)]: 'adopted' })
      const {
        meta: { tag, versionId, lastUpdated, ...others },
        ...after
      } = await server.read('Observation', before.id)
      const {
        meta: { tag: formerTag, versionId: _, lastUpdated: __, ...formerOthers },
        ...former
      } = before
      t.same(after, former)
      t.same(String((after.valueQuantity as { value: unknown }).value), '1.10')
      t.same(withoutSource(others), withoutSource(formerOthers))
      t.same(sortBySystem(tag!), sortBySystem([...formerTag!, { system: tenantSystem, code: tenant }]))
      t.equal(versionId, '2')
    }
  )

  await t.test('a record with any tag of the tenant system is left alone', async t => {
    const [a, b] = [newTenant(), newTenant()]
    const server = openExistingServer(baseUrl)
    const planted = {
      own: await server.plant(patient, [tenantSystem, a]),
      foreign: await server.plant(patient, [tenantSystem, b]),
      unclear: await server.plant(patient, [tenantSystem.toUpperCase(), b])
    }
    const both = await server.plant(patient, [tenantSystem, a], [tenantSystem, b])
    const { states } = await runAdoption(backend, a, server.search('Patient'))
    t.same(states, {
      ...Object.fromEntries(Object.entries(planted).map(([state, record]) => [toReference(record), state])),
      [toReference(both)]: 'unclear'
    })
    for (const record of [...Object.values(planted), both]) t.same(await server.read('Patient', record.id), record)
  })

  await t.test('a second run writes nothing', async t => {
    const server = openExistingServer(baseUrl)
    const record = await server.plant(patient)
    const tenant = newTenant()
    await runAdoption(backend, tenant, server.search('Patient'))
    const { states } = await runAdoption(backend, tenant, server.search('Patient'))
    t.same(states, { [toReference(record)]: 'own' })
    t.equal((await server.read('Patient', record.id)).meta.versionId, '2')
  })

  await t.test("references of adopted records to records that are not the tenant's then are reported", async t => {
    const server = openExistingServer(baseUrl)
    const [own, untagged, foreign] = [
      await server.plant(patient),
      await openExistingServer(baseUrl).plant(patient),
      await server.plant(patient, [tenantSystem, newTenant()])
    ]
    await server.plant(observation(toReference(own)))
    const [second, third] = [
      await server.plant(observation(toReference(untagged))),
      await server.plant(observation(toReference(foreign)))
    ]
    const searches = [server.search('Observation'), server.search('Patient')].map(search => ({
      type: search.slice(0, search.indexOf('?')),
      criteria: [...new URLSearchParams(search.slice(search.indexOf('?') + 1))]
    }))
    const expected = [
      `foreign-reference ${toReference(third)} ${toReference(foreign)}`,
      `untagged-reference ${toReference(second)} ${toReference(untagged)}`
    ]
    for (const isDryRun of [true, false]) {
      const { faults } = await runAdoption(backend, 't-told', server.search('Patient'), { criteria: searches, isDryRun })
      t.same(faults.sort(), expected)
    }
  })
}

async function testConcurrentChanges (t: Test, baseUrl: string): Promise<void> {
  const { origin, pathname } = new URL(baseUrl)
  const watched = await startWatched(origin)
  const backend = createOperatorBackend(`${watched.url}${pathname.replace(/\/$/, '')}`)
  t.teardown(async () => { await backend.close(); await watched.close() })

  /** Runs an adoption of one record whose write is held up while something else happens. */
  async function adoptWhile (
    what: 'request' | 'answer',
    deed: (planted: StoredResource, tenant: string) => Promise<void>,
    isDropped = false
  ) {
    const server = openExistingServer(baseUrl)
    const planted = await server.plant({ ...patient, name: [{ family: 'Before' }] })
    const tenant = newTenant()
    const trap = watched.hold(what, 'PUT')
    const outcome = runAdoption(backend, tenant, server.search('Patient'))
    const held = await trap
    await deed(planted, tenant)
    if (isDropped) held.drop()
    else await held.pass()
    const { states } = await outcome
    return { state: states[toReference(planted)], tenant, ...(await server.send('GET', toReference(planted))) }
  }

  await t.test('a change in the moment of the adoption is preserved', async t => {
    const { state, body, tenant } = await adoptWhile('request', async planted => {
      await openExistingServer(baseUrl).send('PUT', toReference(planted), { ...planted, name: [{ family: 'After' }] })
    })
    t.equal(state, 'adopted')
    t.match(body, { name: [{ family: 'After' }], meta: { versionId: '3' } })
    t.ok(listTags(body).includes(`${tenantSystem}|${tenant}`))
  })

  await t.test('a record that gets another tenant in the moment of the adoption stays that tenant\'s', async t => {
    const other = newTenant()
    const { state, body } = await adoptWhile('request', async planted => {
      const tag = [...planted.meta.tag!, { system: tenantSystem, code: other }]
      await openExistingServer(baseUrl).send('PUT', toReference(planted), { ...planted, meta: { ...planted.meta, tag } })
    })
    t.equal(state, 'foreign')
    t.same(listTags(body).filter(tag => tag.startsWith(tenantSystem)), [`${tenantSystem}|${other}`])
  })

  await t.test('a record that no longer matches the search in the moment of the adoption is left alone', async t => {
    const server = openExistingServer(baseUrl)
    const planted = await server.plant({ ...patient, gender: 'male' })
    const trap = watched.hold('request', 'PUT')
    const outcome = runAdoption(backend, newTenant(), `${server.search('Patient')}&gender=male`)
    const held = await trap
    await server.send('PUT', toReference(planted), { ...planted, gender: 'female' })
    await held.pass()
    t.same((await outcome).states, { [toReference(planted)]: 'gone' })
    t.same(listTags(await server.read('Patient', planted.id)), listTags(planted))
  })

  await t.test('a record that is deleted in the moment of the adoption does not come back', async t => {
    const { state, status } = await adoptWhile('request', async planted => {
      await openExistingServer(baseUrl).send('DELETE', toReference(planted))
    })
    t.equal(state, 'gone')
    t.equal(status, 410)
  })

  await t.test('a write whose response was lost is found done, and not done again', async t => {
    const { state, body } = await adoptWhile('answer', async () => {}, true)
    t.equal(state, 'adopted')
    t.equal(body.meta.versionId, '2')
  })
}

/** HAPI has an order of its own. */
const sortBySystem = (tags: NonNullable<StoredResource['meta']['tag']>): unknown =>
  [...tags].sort((one, other) => (one.system! < other.system! ? -1 : 1))

/** HAPI puts the id of the request behind the source. */
const withoutSource = ({ source, ...others }: Record<string, unknown>): unknown => others
