import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import type { StoredResource } from '../../src/mappings/fhir.js'
import type { TenantStore, Page } from '../../src/tenant-guard/guard.js'
import type { SearchParameter } from '../../src/tenant-guard/interaction.js'
import { ReferenceFailure } from '../../src/tenant-guard/writes/references.js'
import { catchFailure, createGateway, newTenant, toPublicFailure, system } from './guarded.js'
import type { Gateway } from './guarded.js'

/** The optional features of a kind of datastore. */
export interface Abilities {
  /** A search that was begun keeps its matches, whatever is deleted meanwhile. */
  readonly keepsSearches: boolean
  /** It refuses what is not valid R4. */
  readonly validates: boolean
  /** A reference must lead to a record, and a record that is referred to stays. */
  readonly checksReferences: boolean
  /** Exchanges that a write takes: one, and one more where its response does not show the record. */
  readonly callsOfWrite: 1 | 2
}

/** What the guard and a datastore must do together, whichever FHIR server it is. */
export async function guardContract (t: Test, baseUrl: string, abilities: Abilities): Promise<void> {
  const gateway = createGateway(baseUrl)
  t.teardown(() => gateway.backend.close())
  t.beforeEach(() => { gateway.sent.length = 0; gateway.incidents.length = 0 })
  await testWritesAndReads(t, gateway, abilities)
  await testSearches(t, gateway, abilities)
  await testChanges(t, gateway, abilities)
  await testReferences(t, gateway, abilities)
  await testPlanted(t, gateway)
}

const patient = { resourceType: 'Patient' } as const

async function createPatient (store: TenantStore, family = 'Doe'): Promise<StoredResource> {
  return (await store.create({ kind: 'create', type: 'Patient', resource: { ...patient, name: [{ family }] } })).record
}

function observation (subject?: string): { resourceType: string } {
  return {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    ...(subject !== undefined && { subject: { reference: subject } })
  } as { resourceType: string }
}

async function createObservation (store: TenantStore, subject?: string): Promise<StoredResource> {
  return (await store.create({ kind: 'create', type: 'Observation', resource: observation(subject) })).record
}

function read (
  store: TenantStore,
  { resourceType: type, id }: { resourceType: string; id: string }
): Promise<StoredResource> {
  return store.read({ kind: 'read', type, id })
}

function remove (store: TenantStore, { resourceType: type, id }: StoredResource, version?: string): Promise<void> {
  return store.delete({ kind: 'delete', type, id, version })
}

async function update (
  store: TenantStore,
  resource: StoredResource,
  version = resource.meta.versionId!
): Promise<StoredResource> {
  const { resourceType: type, id } = resource
  return (await store.update({ kind: 'update', type, id, resource, version })).record
}

function find (
  store: TenantStore,
  parameters: SearchParameter[] = [],
  more: { count?: number; cursor?: string; route?: string; type?: string } = {}
): Promise<Page> {
  return store.search({ kind: 'search', type: 'Patient', route: 'patients', parameters, ...more })
}

function listIds ({ resources }: Page): string[] {
  return resources.map(({ id }) => id).sort()
}

/** Sends to the datastore directly, as an operator or an attacker behind the gateway could. */
async function sendDirectly (
  gateway: Gateway,
  method: string,
  path: string,
  body?: unknown
): Promise<{ status: number; body: StoredResource }> {
  const headers = {
    accept: 'application/fhir+json',
    'content-type': 'application/fhir+json',
    'cache-control': 'no-cache'
  }
  const response = await fetch(`${gateway.backend.baseUrl}/${path}`, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body)
  })
  const text = await response.text()
  const location = response.headers.get('location')
  if (text === '' && location !== null) {
    return { status: response.status, body: (await (await fetch(location)).json()) as StoredResource }
  }
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

async function testWritesAndReads (t: Test, gateway: Gateway, { validates, callsOfWrite }: Abilities): Promise<void> {
  await t.test("a created record is the tenant's, under an id of the datastore, its numbers to the letter", async t => {
    const [mine, theirs] = [newTenant(), newTenant()]
    const store = gateway.guard(mine)
    const id = randomUUID()
    const meta = {
      tag: [
        { system, code: theirs },
        { system: 'http://ward', code: '3' }
      ],
      versionId: '77',
      source: 'http://evil'
    }
    const valueQuantity = { value: new ExactNumber('1.10'), unit: 'mg' }
    const { record: created } = await store.create({
      kind: 'create',
      type: 'Observation',
      resource: { ...observation(), id, meta, valueQuantity }
    })
    t.not(created.id, id)
    t.equal(gateway.sent.length, callsOfWrite)
    const stored = await read(store, created)
    t.equal(String((stored.valueQuantity as { value: unknown }).value), '1.10')
    t.strictSame(
      stored.meta.tag?.filter(tag => tag.system === system),
      [{ system, code: mine }]
    )
    t.ok(stored.meta.tag?.some(tag => tag.system === 'http://ward'))
    t.not(stored.meta.versionId, '77')
    t.notMatch(stored.meta.source, /evil/)
    t.equal(gateway.sent.length, callsOfWrite + 1)
  })

  await t.test(
    'foreign, unknown and deleted records are alike, in every interaction, and nothing happens to them',
    async t => {
      const mine = gateway.guard(newTenant())
      const theirs = gateway.guard(newTenant())
      const foreign = await createPatient(theirs, 'Secret')
      const deleted = await createPatient(mine)
      await remove(mine, deleted)
      const unknown = { ...foreign, id: randomUUID() }
      for (const act of [read, remove, update] as const) {
        const outcomes: string[] = []
        for (const record of [foreign, deleted, unknown]) {
          gateway.sent.length = 0
          const failure = await catchFailure(act(mine, record))
          outcomes.push(JSON.stringify([toPublicFailure(failure), gateway.sent.map(({ method }) => method)]))
        }
        t.equal(new Set(outcomes).size, 1, outcomes.join('\n'))
        t.match(outcomes[0], /NOT_FOUND/)
      }
      t.strictSame(await read(theirs, foreign), foreign)
      t.notOk((await sendDirectly(gateway, 'GET', `Patient/${unknown.id}`)).status === 200)
      t.notOk((await sendDirectly(gateway, 'GET', `Patient/${deleted.id}`)).status === 200)
    }
  )

  await t.test(
    "a record that is not valid FHIR is refused in the gateway's own words",
    { skip: validates ? false : 'this datastore stores what it is given' },
    async t => {
      const store = gateway.guard(newTenant())
      const failure = await catchFailure(
        store.create({ kind: 'create', type: 'Patient', resource: { ...patient, birthDate: 'zzz-secret' } })
      )
      t.equal(failure.code, 'VALIDATION_ERROR')
      t.notMatch(JSON.stringify(toPublicFailure(failure)), /secret|HAPI/)
    }
  )
}

async function testSearches (t: Test, gateway: Gateway, { keepsSearches }: Abilities): Promise<void> {
  await t.test('a search finds what was stored a moment ago, and the tenant\'s records alone', async t => {
    const mine = gateway.guard(newTenant())
    const theirs = gateway.guard(newTenant())
    t.strictSame(await find(mine), { resources: [], total: 0 })
    await createPatient(theirs)
    for (let number = 1; number <= 5; number++) {
      const { id } = await createPatient(mine, `Fresh${number}`)
      gateway.sent.length = 0
      const page = await find(mine)
      t.strictSame([page.total, page.resources.length, gateway.sent.length], [number, number, 1])
      t.strictSame(listIds(await find(mine, [['name', `Fresh${number}`]])), [id])
      t.strictSame((await find(mine, [['name', `Fresh${number}`], ['_id', 'nothing']])).total, 0)
    }
    t.strictSame(gateway.incidents, [])
  })

  await t.test('every record comes on some page, the total is on each, and the last has no cursor', async t => {
    const store = gateway.guard(newTenant())
    const ids = await Promise.all(Array.from({ length: 12 }, async () => (await createPatient(store)).id))
    for (const count of [1, 4, 5, 12, 100]) {
      const seen: string[] = []
      let page = await find(store, [], { count })
      for (;;) {
        t.equal(page.total, 12)
        seen.push(...listIds(page))
        if (page.cursor === undefined) break
        page = await find(store, [], { cursor: page.cursor })
      }
      t.strictSame(seen.sort(), ids.sort(), `${count} a page`)
    }
  })

  await t.test(
    'records that are deleted while a client pages hide no other',
    { skip: keepsSearches ? false : 'this datastore pages by offset' },
    async t => {
      const store = gateway.guard(newTenant())
      const ids = await Promise.all(Array.from({ length: 12 }, async () => (await createPatient(store)).id))
      let page = await find(store, [['_sort', '_id']], { count: 4 })
      const seen = listIds(page)
      for (const resource of page.resources) await remove(store, resource)
      while (page.cursor !== undefined) {
        page = await find(store, [], { cursor: page.cursor })
        seen.push(...listIds(page))
      }
      t.strictSame(seen.sort(), ids.sort())
    }
  )

  await t.test('a cursor is valid for the search that returned it, and for no other search or tenant', async t => {
    const tenant = newTenant()
    const store = gateway.guard(tenant)
    await Promise.all([createPatient(store), createPatient(store), createPatient(store)])
    const parameters: SearchParameter[] = [['name', 'Doe'], ['_sort', '_id']]
    const { cursor } = await find(store, parameters, { count: 1 })
    const second = await find(store, [], { cursor })
    t.equal(second.resources.length, 1)
    t.strictSame(listIds(await find(store, parameters.toReversed(), { cursor, count: 1 })), listIds(second))
    gateway.sent.length = 0
    const misuses = [
      find(gateway.guard(newTenant()), [], { cursor }),
      find(gateway.guard(tenant, { mode: 'live' }), [], { cursor }),
      find(gateway.guard(tenant, { backend: { ...gateway.backend, name: 'other' } }), [], { cursor }),
      find(store, [], { cursor, route: 'people' }),
      find(store, [], { cursor, type: 'Observation' }),
      find(store, [['name', 'Doe']], { cursor }),
      find(store, [['name', 'X'], ['_sort', '_id']], { cursor }),
      find(store, parameters, { cursor, count: 2 }),
      find(store, [], { cursor: cursor!.slice(1) })
    ]
    const outcomes = await Promise.all(
      misuses.map(async misuse => JSON.stringify(toPublicFailure(await catchFailure(misuse))))
    )
    t.equal(new Set(outcomes).size, 1)
    t.match(outcomes[0], /INVALID_CURSOR/)
    t.equal(gateway.sent.length, 0)
  })

  await t.test('a filter\'s value that the datastore cannot read is the client\'s mistake', async t => {
    const failure = await catchFailure(find(gateway.guard(newTenant()), [['birthdate', 'secret']]))
    t.equal(failure.code, 'BAD_REQUEST')
    t.notMatch(JSON.stringify(toPublicFailure(failure)), /secret|HAPI/)
  })

  await t.test('a search by hundreds of ids returns every match', async t => {
    const store = gateway.guard(newTenant())
    const { id } = await createPatient(store)
    const ids = [...Array.from({ length: 200 }, () => randomUUID()), id]
    t.strictSame(listIds(await find(store, [['_id', ids.join(',')]])), [id])
    t.equal(gateway.sent.at(-1)!.method, 'POST')
    t.strictSame([...await store.filterOwned(ids.map(each => `Patient/${each}`))], [`Patient/${id}`])
  })
}

async function testChanges (t: Test, gateway: Gateway, { checksReferences, callsOfWrite }: Abilities): Promise<void> {
  await t.test('an update replaces the version that was read, and no other', async t => {
    const tenant = newTenant()
    const store = gateway.guard(tenant)
    const first = await createPatient(store)
    gateway.sent.length = 0
    const second = await update(store, { ...first, active: true })
    t.equal(gateway.sent.length, callsOfWrite)
    t.not(second.meta.versionId, first.meta.versionId)
    t.strictSame(second.meta.tag?.filter(tag => tag.system === system), [{ system, code: tenant }])
    t.equal((await catchFailure(update(store, { ...first, active: false }))).code, 'CONFLICT')
    t.equal((await catchFailure(update(store, second, 'x"\r\ny'))).code, 'CONFLICT')
    t.strictSame(await read(store, first), second)
  })

  await t.test('of writers who read the same version one is stored', async t => {
    const store = gateway.guard(newTenant())
    const before = await createPatient(store)
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4, 5, 6].map(number => update(store, { ...before, name: [{ family: `W${number}` }] }))
    )
    t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    t.ok(outcomes.every(outcome => outcome.status === 'fulfilled' || outcome.reason.code === 'CONFLICT'))
  })

  await t.test('a record that was deleted meanwhile stays deleted', async t => {
    const tenant = newTenant()
    const store = gateway.guard(tenant)
    const record = await createPatient(store)
    // Through another gateway, so that this one still believes that the record is there.
    const other = createGateway(gateway.backend.baseUrl)
    t.teardown(() => other.backend.close())
    await remove(other.guard(tenant), record)
    t.match((await catchFailure(update(store, { ...record, active: true }))).code, /CONFLICT|NOT_FOUND/)
    t.not((await sendDirectly(gateway, 'GET', `Patient/${record.id}`)).status, 200)
    t.equal((await catchFailure(read(store, record))).code, 'NOT_FOUND')
    t.equal((await catchFailure(update(store, record))).code, 'NOT_FOUND')
    t.equal((await find(store)).total, 0)
  })

  await t.test('a delete takes the version that the client means, and no other', async t => {
    const store = gateway.guard(newTenant())
    const record = await createPatient(store)
    t.equal((await catchFailure(remove(store, record, 'other'))).code, 'PRECONDITION_FAILED')
    gateway.sent.length = 0
    await remove(store, record, record.meta.versionId)
    t.strictSame(gateway.sent.map(({ method }) => method), ['GET', 'DELETE'])
    t.equal((await catchFailure(remove(store, record))).code, 'NOT_FOUND')
  })

  await t.test(
    'nothing that others refer to is deleted',
    { skip: checksReferences ? false : 'this datastore does not look at references' },
    async t => {
      const store = gateway.guard(newTenant())
      const record = await createPatient(store)
      const referrer = await createObservation(store, `Patient/${record.id}`)
      const conflict = await catchFailure(remove(store, record, record.meta.versionId))
      t.equal(conflict.code, 'CONFLICT')
      t.notMatch(JSON.stringify(toPublicFailure(conflict)), new RegExp(`${referrer.id}|Observation`))
      await remove(store, referrer)
      await remove(store, record, record.meta.versionId)
    }
  )
}

async function testReferences (
  t: Test, gateway: Gateway, { checksReferences, callsOfWrite }: Abilities
): Promise<void> {
  await t.test('a reference to an own record is looked up once, and then known', async t => {
    const tenant = newTenant()
    const { id } = await createPatient(gateway.guard(tenant))
    const cold = createGateway(gateway.backend.baseUrl)
    t.teardown(() => cold.backend.close())
    for (const calls of [callsOfWrite + 1, callsOfWrite, callsOfWrite]) {
      cold.sent.length = 0
      await createObservation(cold.guard(tenant), `Patient/${id}`)
      t.equal(cold.sent.length, calls)
    }
  })

  await t.test(
    'references to foreign, unknown and deleted records are refused alike, and nothing is stored',
    async t => {
      const mine = gateway.guard(newTenant())
      const theirs = gateway.guard(newTenant())
      const own = await createPatient(mine)
      const foreign = await createPatient(theirs)
      const deleted = await createPatient(mine)
      await remove(mine, deleted)
      const before = await createObservation(mine, `Patient/${own.id}`)
      const outcomes: string[] = []
      for (const id of [foreign.id, deleted.id, randomUUID()]) {
        const writes = [
          () => createObservation(mine, `Patient/${id}`),
          () => update(mine, { ...before, subject: { reference: `Patient/${id}` } })
        ]
        for (const write of writes) {
          const failure = await catchFailure(write())
          t.ok(failure instanceof ReferenceFailure)
          t.strictSame((failure as ReferenceFailure).references, [`Patient/${id}`])
          outcomes.push(JSON.stringify(toPublicFailure(failure)))
        }
      }
      t.equal(new Set(outcomes).size, 1, outcomes.join('\n'))
      t.notMatch(outcomes[0], new RegExp(foreign.id))
      t.strictSame(await read(mine, before), before)
      t.equal((await find(mine, [], { type: 'Observation' })).total, 1)
    }
  )

  await t.test(
    'a reference that is believed, but was deleted through another gateway, is refused alike',
    { skip: checksReferences ? false : 'this datastore does not look at references' },
    async t => {
      const tenant = newTenant()
      const store = gateway.guard(tenant)
      const [remaining, deleted] = [await createPatient(store), await createPatient(store)]
      const other = createGateway(gateway.backend.baseUrl)
      t.teardown(() => other.backend.close())
      await remove(other.guard(tenant), deleted)
      const resource = { ...observation(`Patient/${deleted.id}`), performer: [{ reference: `Patient/${remaining.id}` }] }
      const failure = await catchFailure(store.create({ kind: 'create', type: 'Observation', resource }))
      t.strictSame(failure instanceof ReferenceFailure && failure.references, [`Patient/${deleted.id}`])
      t.strictSame([...await store.filterOwned([`Patient/${deleted.id}`])], [])
    }
  )

  await t.test('of candidates of several types those that are the tenant\'s are found in one call', async t => {
    const mine = gateway.guard(newTenant())
    const foreign = await createPatient(gateway.guard(newTenant()))
    const own = await createPatient(mine)
    const { record: { id: practitioner } } = await mine.create({
      kind: 'create',
      type: 'Practitioner',
      resource: { resourceType: 'Practitioner' }
    })
    const candidates = [
      `Practitioner/${own.id}`,
      `Patient/${foreign.id}`,
      `Patient/${own.id}`,
      `Device/${own.id}`,
      `Practitioner/${practitioner}`,
      'Patient/../x',
      'Subscription/1'
    ]
    const found = [`Patient/${own.id}`, `Practitioner/${practitioner}`]
    gateway.sent.length = 0
    t.strictSame([...await mine.filterOwned(candidates)], found)
    t.equal(gateway.sent.length, 1)
    t.strictSame([...await mine.filterOwned(found)], found)
    t.equal(gateway.sent.length, 1)
    t.strictSame([...await mine.filterOwned([`Patient/${foreign.id}`, 'x', 'Patient/', 'Subscription/1'])], [])
    t.strictSame([...await mine.filterOwned([])], [])
  })

  await t.test('a record that was not found at first is found once it is stored', async t => {
    const tenant = newTenant()
    const store = gateway.guard(tenant)
    const id = randomUUID()
    const candidates = [`Patient/${id}`, `Practitioner/${id}`, `Device/${id}`]
    t.strictSame([...await store.filterOwned(candidates)], [])
    const { status } = await sendDirectly(gateway, 'PUT', `Patient/${id}`, {
      ...patient,
      id,
      meta: { tag: [{ system, code: tenant }] }
    })
    t.equal(status, 201)
    t.strictSame([...await store.filterOwned(candidates)], [`Patient/${id}`])
  })
}

async function testPlanted (t: Test, gateway: Gateway): Promise<void> {
  await t.test(
    "a record that carries two tenants' tags is neither's; it is not shown, not counted, and reported without its id",
    async t => {
      const [mine, theirs] = [newTenant(), newTenant()]
      const tag = [
        { system, code: mine },
        { system, code: theirs }
      ]
      const { body: planted } = await sendDirectly(gateway, 'POST', 'Patient', { ...patient, meta: { tag } })
      for (const tenant of [mine, theirs]) {
        const store = gateway.guard(tenant)
        const own = await createPatient(store)
        t.equal((await catchFailure(read(store, planted))).code, 'NOT_FOUND')
        t.equal((await catchFailure(remove(store, planted))).code, 'NOT_FOUND')
        t.equal((await catchFailure(update(store, planted))).code, 'NOT_FOUND')
        t.ok((await catchFailure(createObservation(store, `Patient/${planted.id}`))) instanceof ReferenceFailure)
        gateway.incidents.length = 0
        t.strictSame(await find(store), { resources: [own], total: 1 })
        t.strictSame(gateway.incidents, [
          {
            kind: 'foreign-match',
            interaction: 'search',
            type: 'Patient',
            records: 1,
            datastore: 'datastore',
            mode: 'test',
            tenantId: tenant
          }
        ])
      }
    }
  )

  await t.test("a record without a tenant's tag, or with another spelling of it, belongs to no tenant", async t => {
    const tenant = newTenant()
    const store = gateway.guard(tenant)
    for (const tag of [
      undefined,
      [{ system: 'http://other', code: tenant }],
      [{ system: ` ${system}`, code: tenant }],
      [
        { system, code: tenant },
        { system: system.toUpperCase(), code: tenant }
      ]
    ]) {
      const { status, body: planted } = await sendDirectly(gateway, 'POST', 'Patient', {
        ...patient,
        ...(tag !== undefined && { meta: { tag } })
      })
      // Some servers store no such spelling.
      if (status === 400) continue
      t.equal(status, 201)
      t.equal((await catchFailure(read(store, planted))).code, 'NOT_FOUND')
    }
  })
}
