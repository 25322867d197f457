import type { Test } from 'tap'
import { toPlainNumbers } from '../../src/json/json.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import { deepEqual } from '../../src/mappings/core/element.js'
import { noParameter, type Filter } from '../../src/mappings/core/filter.js'
import { identityFields, type Mapping } from '../../src/mappings/core/mapping.js'
import { checkChange, checkRules } from '../../src/mappings/core/validate.js'
import type { ClientResponse } from '../harness/client.js'
import { Bodies, findChange, makeFindable, createContext, applyMerge, replaceWithRecords, type Body } from './bodies.js'
import { toComparable } from './comparable.js'
import { testHiddenContent } from './hidden-content.js'
import type { TestContext } from './location.js'
import { isOpenEnded, getNonMatchingValue, listMatchingValues, listMatchingWords } from './search-values.js'

/** The rules for every resource group, on every FHIR server. */
export async function testMapping (t: Test, mapping: Mapping, context: TestContext): Promise<void> {
  const bodies = new Bodies(mapping, replaceWithRecords(context.world))
  await testCreate(t, bodies, context)
  await testSearch(t, mapping, context)
  if (mapping.appendOnly) {
    await t.test('is never changed, and deleted by a key with the scope *', t => testAppendOnly(t, bodies, context))
    return
  }
  await t.test('each field can be changed and removed, and nothing else changes', t => testChanges(t, bodies, context))
  await t.test('a record that was read can be sent back whole, and read-only fields cannot be changed', t =>
    testRoundTrip(t, bodies, context)
  )
  await t.test('a record that another system stored preserves all its hidden parts', t => testHiddenContent(t, bodies, context))
  await t.test('a JSON Patch changes the fields that it names', t => testJsonPatch(t, bodies, context))
  await t.test("a version is changed and read by the client's conditions", t => testVersions(t, bodies, context))
  await t.test('a deleted record is as if it had never existed', t => testDelete(t, bodies, context))
}

type SimpleRecord = Readonly<Record<string, unknown>>

function withoutIdentity (record: SimpleRecord): SimpleRecord {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => !(identityFields as readonly string[]).includes(name))
  )
}

/** Fields with a wrong value; a default that depends on the request need only be there. */
function findDifferences (
  mapping: Mapping, actual: SimpleRecord, expected: SimpleRecord, sent: Body = expected
): string[] {
  const isOpen = (name: string): boolean =>
    typeof mapping.fields[name]?.options.default === 'function' && !Object.hasOwn(sent, name)
  return [...new Set([...Object.keys(actual), ...Object.keys(expected)])]
    .filter(name =>
      isOpen(name)
        ? (actual[name] === undefined) !== (expected[name] === undefined)
        : !deepEqual(toComparable(actual[name]), toComparable(expected[name]))
    )
    .map(
      name =>
        `${name}: ${JSON.stringify(toPlainNumbers(actual[name]))}, expected ${JSON.stringify(toPlainNumbers(expected[name]))}`
    )
}

/** Stores a body that must be accepted. */
async function create (mapping: Mapping, { client }: TestContext, body: Body): Promise<ClientResponse> {
  const response = await client.send('POST', mapping.path, body)
  if (response.status !== 201) {
    throw new Error(`${response.status} ${response.text} for ${JSON.stringify(toPlainNumbers(body))}`)
  }
  return response
}

async function testCreate (t: Test, bodies: Bodies, context: TestContext): Promise<void> {
  const { mapping } = bodies
  for (const [title, body] of [
    ['what is required alone', bodies.buildMinimal()] as const,
    ...bodies.buildFull().map((body, i) => [`all that can be sent (${i + 1})`, body] as const)
  ]) {
    await t.test(`${title} is stored, and read as it was sent`, async t => {
      const { data, headers, body: envelope } = await create(mapping, context, body)
      t.equal(headers.location, `/v1/${mapping.path}/${data.id}`)
      t.equal(headers.etag, `W/"${data.versionId}"`)
      t.match(data, {
        id: /^[A-Za-z0-9.-]{1,64}$/,
        resourceType: mapping.type,
        versionId: String,
        createdAt: String,
        updatedAt: data.createdAt
      })
      t.match(envelope.meta, { status: 201, requestId: headers['x-request-id'] })
      const expected = mapping.toSimple(mapping.toFhir(mapping.withDefaults(body, createContext)))
      t.strictSame(findDifferences(mapping, withoutIdentity(data), expected, body), [])
      const read = await context.client.send('GET', `${mapping.path}/${data.id}`)
      t.equal(read.status, 200)
      t.equal(read.headers.etag, headers.etag)
      t.strictSame(findDifferences(mapping, read.data, data), [])
    })
  }
}

/** Bodies in which every filter finds a value, where there can be any. */
function buildFindableBodies (mapping: Mapping, { world }: TestContext): Body[] {
  const variants = Array.from(
    { length: 8 },
    (_, pick) => new Bodies(mapping, makeFindable(replaceWithRecords(world, pick)))
  )
  const hasValueFor = (filter: Filter) => (body: Body) => {
    const resource = mapping.toFhir(mapping.withDefaults(body, createContext))
    return (
      listMatchingValues(resource, filter).length > 0 ||
      (filter.hasText === true && listMatchingWords(resource, filter).length > 0)
    )
  }
  return Object.values(mapping.filters).reduce((bodies, filter) => {
    if (bodies.some(hasValueFor(filter))) return bodies
    const more = findFirst(variants, variant => variant.findMinimalWith(hasValueFor(filter)))
    return more === undefined ? bodies : [...bodies, more]
  }, [variants[0]!.buildMinimal(), ...variants[0]!.buildFull()])
}

function findFirst<T, U> (items: readonly T[], find: (item: T) => U | undefined): U | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

async function testSearch (t: Test, mapping: Mapping, context: TestContext): Promise<void> {
  const records = await Promise.all(buildFindableBodies(mapping, context).map(async body => {
    const { data } = await create(mapping, context, body)
    return {
      id: data.id as string,
      updatedAt: data.updatedAt as string,
      stored: await context.server.read(mapping.type, data.id)
    }
  }))
  const search = async (query: Readonly<Record<string, string>>) => {
    const { status, data, text } = await context.client.send(
      'GET',
      `${mapping.path}?${new URLSearchParams({ count: '100', ...query })}`
    )
    if (status !== 200) return [`${status} ${text}`]
    return data.data.map(({ id }: { id: string }) => id) as string[]
  }
  const assertFinds = async (t: Test, query: Readonly<Record<string, string>>, id: string) => {
    const ids = await search(query)
    t.ok(ids.includes(id), `${new URLSearchParams(query)} finds ${id}`, ids.includes(id) ? {} : { ids })
  }

  for (const [name, filter] of Object.entries(mapping.filters)) {
    const isSorted = filter.param !== noParameter
    if (isSorted && context.hasParameter?.(mapping.type, filter.param) === false) {
      await t.test(`${name}, which the server cannot search by, is rejected`, async t => {
        const [value = 'x'] = records.flatMap(({ stored }) => listMatchingValues(stored, filter))
        t.match(await search({ [name]: value }), [/^400 .*"code":"BAD_REQUEST"/])
        t.match(await search({ sort: name }), [/^400 .*"code":"BAD_REQUEST"/])
      })
      continue
    }
    await t.test(`${name} finds what it should and sorts`, async t => {
      const known = records.flatMap(({ id, stored }) =>
        listMatchingValues(stored, filter).map(value => ({ id, value }))
      )
      const worded = filter.hasText
        ? records.flatMap(({ id, stored }) => listMatchingWords(stored, filter).map(value => ({ id, value })))
        : []
      if (known.length + worded.length === 0) t.fail('no record has anything that this filter looks at')
      for (const { id, value } of known.slice(0, 1)) {
        await assertFinds(t, { [name]: value, ...isSorted && { sort: name } }, id)
      }
      for (const { id, value } of worded.slice(0, 1)) await assertFinds(t, { [`${name}:text`]: value, sort: `-${name}` }, id)
      const nothing = getNonMatchingValue(filter)
      const unmatched = records.filter(({ stored }) => !isOpenEnded(stored, filter)).map(({ id }) => id)
      const stray = nothing === undefined ? [] : await search({ [name]: nothing, ...isSorted && { sort: `-${name}` } })
      t.strictSame(filter.kind === 'from' ? stray.filter(id => unmatched.includes(id)) : stray, [])
    })
  }

  await t.test('id and updatedSince find it', async t => {
    const [{ id, updatedAt }, other] = records as [typeof records[0], typeof records[0]]
    t.strictSame(await search({ id }), [id])
    t.strictSame((await search({ id: `${id},${other.id},no-such-id` })).sort(), [id, other.id].sort())
    t.strictSame(await search({ id: 'no-such-id' }), [])
    await assertFinds(t, { updatedSince: updatedAt, sort: '-updatedSince' }, id)
    t.strictSame(await search({ updatedSince: '2999-12-31' }), [])
  })
}

async function testChanges (t: Test, bodies: Bodies, context: TestContext): Promise<void> {
  const { mapping } = bodies
  const others = new Bodies(mapping, replaceWithRecords(context.world, 1), 7)
  const { data } = await create(mapping, context, bodies.buildFull()[0]!)
  let stored = await context.server.read(mapping.type, data.id)
  const patch = async (changes: Body) => {
    const response = await context.client.send('PATCH', `${mapping.path}/${data.id}`, changes)
    if (response.status !== 200) throw new Error(`${JSON.stringify(toPlainNumbers(changes))}: ${response.text}`)
    stored = applyMerge(mapping, stored, changes)
    t.strictSame(
      findDifferences(mapping, withoutIdentity(response.data), mapping.toSimple(stored)),
      [],
      Object.keys(changes).join()
    )
  }
  // The field before is removed by the change of the next one where R4 allows that, which halves the requests.
  let removal: Body = {}
  for (const name of others.names) {
    let changes = findChange(others, name, stored, removal)
    if (changes === undefined) {
      await patch(removal)
      changes = findChange(others, name, stored)
    }
    if (changes === undefined) throw new Error(`no change of ${name} is allowed`)
    await patch(changes)
    removal = isRemovable(mapping, name, stored) ? { [name]: null } : {}
  }
  await patch(removal)
  const { meta, ...content } = await context.server.read(mapping.type, data.id)
  const { meta: _, ...expected } = stored
  t.strictSame(toComparable(content), toComparable(expected), 'the datastore holds exactly what was changed')
}

async function testRoundTrip (t: Test, bodies: Bodies, { client, ...context }: TestContext): Promise<void> {
  const { mapping } = bodies
  const { data, headers } = await create(mapping, { client, ...context }, bodies.buildFull()[0]!)
  const path = `${mapping.path}/${data.id}`
  const response = await client.send('PATCH', path, data)
  t.equal(response.status, 200, response.text)
  t.equal(response.headers.etag, headers.etag, 'there is no new version')
  t.strictSame(response.data, data)
  const rounded = await client.send('PATCH', path, toPlainNumbers(data))
  t.equal(rounded.headers.etag, headers.etag, 'nor is there one when JavaScript has rounded its numbers')
  t.match(await client.send('PATCH', path, { ...data, versionId: 'another' }), {
    status: 409,
    body: { code: 'CONFLICT' }
  })
  const readOnly = [
    ...identityFields.filter(name => name !== 'versionId'),
    ...Object.keys(mapping.fields).filter(name => mapping.fields[name]!.options.readOnly)
  ]
  for (const name of readOnly.filter(name => data[name] !== undefined)) {
    const { status, body } = await client.send('PATCH', path, { ...data, [name]: 'another' })
    t.match(
      [status, body],
      [422, { code: 'VALIDATION_ERROR', issues: [{ expression: [name], code: 'business-rule' }] }],
      name
    )
  }
}

function isRemovable (mapping: Mapping, name: string, stored: StoredResource): boolean {
  const changes = { [name]: null }
  return (
    checkChange(mapping, changes).length === 0 &&
    checkRules(mapping, mapping.patch(stored, changes), { written: [name], before: stored }).length === 0
  )
}

async function testJsonPatch (t: Test, bodies: Bodies, context: TestContext): Promise<void> {
  const { mapping } = bodies
  const minimal = (await create(mapping, context, bodies.buildMinimal())).data
  const full = bodies.buildFull()[0]!
  const path = `${mapping.path}/${minimal.id}`
  const set = Object.entries(full).filter(([name, value]) => !deepEqual(minimal[name], value))
  const operations = set.map(([name, value]) => ({
    op: minimal[name] === undefined ? 'add' : 'replace',
    path: `/${name}`,
    value
  }))
  const response = await context.client.send('PATCH', path, [
    { op: 'test', path: '/versionId', value: minimal.versionId },
    ...operations
  ])
  t.equal(response.status, 200, response.text)
  const expected = mapping.toSimple(
    mapping.patch(mapping.toFhir(mapping.withDefaults(bodies.buildMinimal(), createContext)), Object.fromEntries(set))
  )
  t.strictSame(findDifferences(mapping, withoutIdentity(response.data), expected, full), [])
  const failing = await context.client.send('PATCH', path, [
    { op: 'test', path: '/versionId', value: minimal.versionId },
    { op: 'remove', path: '/identifiers' }
  ])
  t.equal(failing.status, 422)
  t.strictSame((await context.client.send('GET', path)).data, response.data, 'a patch that does not apply changes nothing')
}

async function testVersions (t: Test, bodies: Bodies, context: TestContext): Promise<void> {
  const { mapping } = bodies
  const { client } = context
  const first = await create(mapping, context, bodies.buildMinimal())
  const path = `${mapping.path}/${first.data.id}`
  const stored: FhirResource = await context.server.read(mapping.type, first.data.id)
  const changes = bodies.names
    .map(name => findChange(bodies, name, stored as StoredResource))
    .find(change => change !== undefined)!
  const second = await client.send('PATCH', path, changes, { 'if-match': first.headers.etag! })
  t.equal(second.status, 200, second.text)
  t.not(second.headers.etag, first.headers.etag)
  const again = await client.send('PATCH', path, changes)
  t.equal(again.headers.etag, second.headers.etag, 'a change that changes nothing makes no version')
  for (const method of ['PATCH', 'DELETE']) {
    const stale = await client.send(method, path, method === 'PATCH' ? { active: 'never looked at' } : undefined, {
      'if-match': first.headers.etag!
    })
    t.match(stale.body, { data: null, code: 'PRECONDITION_FAILED', meta: { status: 412 } })
  }
  const known = await client.send('GET', path, undefined, { 'if-none-match': second.headers.etag! })
  t.strictSame([known.status, known.text, known.headers.etag], [304, '', second.headers.etag])
  const newer = await client.send('GET', path, undefined, { 'if-none-match': first.headers.etag! })
  t.strictSame([newer.status, newer.data], [200, second.data])
}

async function testDelete (t: Test, bodies: Bodies, context: TestContext): Promise<void> {
  const { mapping } = bodies
  const { client } = context
  const { data, headers } = await create(mapping, context, bodies.buildMinimal())
  const path = `${mapping.path}/${data.id}`
  const response = await client.send('DELETE', path, undefined, { 'if-match': headers.etag! })
  t.strictSame([response.status, response.data], [200, { id: data.id, deleted: true }])
  for (const [method, change] of [['GET'], ['PATCH', {}], ['PATCH', []], ['DELETE']] as const) {
    t.match(
      (await client.send(method, path, change)).body,
      { data: null, code: 'NOT_FOUND', meta: { status: 404 } },
      method
    )
  }
  t.strictSame((await client.send('GET', `${mapping.path}?id=${data.id}`)).data.data, [])
}

async function testAppendOnly (t: Test, bodies: Bodies, context: TestContext): Promise<void> {
  const { mapping } = bodies
  const { data } = await create(mapping, context, bodies.buildMinimal())
  const path = `${mapping.path}/${data.id}`
  const response = await context.client.send('PATCH', path, {})
  t.match(response.body, { data: null, code: 'METHOD_NOT_ALLOWED', meta: { status: 405 } })
  t.equal(response.headers.allow, 'DELETE, GET, HEAD')
  t.strictSame((await context.client.send('GET', path)).data, data)
  t.equal((await context.client.send('DELETE', path)).status, 200)
  t.equal((await context.client.send('GET', path)).status, 404)
}
