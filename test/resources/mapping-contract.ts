import type { Test } from 'tap'
import { plainNumbers } from '../../src/json/json.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import { deepEqual } from '../../src/mappings/core/element.js'
import { noParameter, type Filter } from '../../src/mappings/core/filter.js'
import { identityFields, type Mapping } from '../../src/mappings/core/mapping.js'
import { checkChange, checkRules } from '../../src/mappings/core/validate.js'
import type { Answer } from '../harness/client.js'
import { Bodies, changeOf, findable, createContext, patchedBy, referringTo, type Body } from './bodies.js'
import { comparable } from './comparable.js'
import { keepsHiddenContent } from './hidden-content.js'
import type { Place } from './location.js'
import { isOpenEnded, valueFindingNothing, valuesFinding, wordsFinding } from './search-values.js'

/** What every resource group must do, whichever FHIR server is behind the gateway. */
export async function mappingContract (t: Test, mapping: Mapping, place: Place): Promise<void> {
  const bodies = new Bodies(mapping, referringTo(place.world))
  await created(t, bodies, place)
  await found(t, mapping, place)
  if (mapping.appendOnly) {
    await t.test('is never changed, and deleted by a key that may do everything', t => appendOnly(t, bodies, place))
    return
  }
  await t.test('each field can be changed and removed, and nothing else changes', t => changed(t, bodies, place))
  await t.test('a record that was read can be sent back whole, and what is read-only cannot be changed', t =>
    sentBack(t, bodies, place)
  )
  await t.test('what another system stored keeps all that it does not show', t => keepsHiddenContent(t, bodies, place))
  await t.test('a JSON Patch changes what it names', t => jsonPatched(t, bodies, place))
  await t.test('a version is changed and read as its client demands', t => versioned(t, bodies, place))
  await t.test('a deleted record is as if it had never been', t => deleted(t, bodies, place))
}

type Shown = Readonly<Record<string, unknown>>

function withoutIdentity (shown: Shown): Shown {
  return Object.fromEntries(
    Object.entries(shown).filter(([name]) => !(identityFields as readonly string[]).includes(name))
  )
}

/** Fields that do not show what they should; a default that depends on the request need only be there. */
function differences (mapping: Mapping, shown: Shown, expected: Shown, sent: Body = expected): string[] {
  const isOpen = (name: string): boolean =>
    typeof mapping.fields[name]?.options.default === 'function' && !Object.hasOwn(sent, name)
  return [...new Set([...Object.keys(shown), ...Object.keys(expected)])]
    .filter(name =>
      isOpen(name)
        ? (shown[name] === undefined) !== (expected[name] === undefined)
        : !deepEqual(comparable(shown[name]), comparable(expected[name]))
    )
    .map(
      name =>
        `${name}: ${JSON.stringify(plainNumbers(shown[name]))}, expected ${JSON.stringify(plainNumbers(expected[name]))}`
    )
}

/** Stores a body that must be taken. */
async function create (mapping: Mapping, { client }: Place, body: Body): Promise<Answer> {
  const answer = await client.send('POST', mapping.path, body)
  if (answer.status !== 201) {
    throw new Error(`${answer.status} ${answer.text} for ${JSON.stringify(plainNumbers(body))}`)
  }
  return answer
}

async function created (t: Test, bodies: Bodies, place: Place): Promise<void> {
  const { mapping } = bodies
  for (const [title, body] of [
    ['what is required alone', bodies.minimal()] as const,
    ...bodies.full().map((body, i) => [`all that can be sent (${i + 1})`, body] as const)
  ]) {
    await t.test(`${title} is stored, and read as it was sent`, async t => {
      const { data, headers, body: envelope } = await create(mapping, place, body)
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
      t.strictSame(differences(mapping, withoutIdentity(data), expected, body), [])
      const read = await place.client.send('GET', `${mapping.path}/${data.id}`)
      t.equal(read.status, 200)
      t.equal(read.headers.etag, headers.etag)
      t.strictSame(differences(mapping, read.data, data), [])
    })
  }
}

/** Bodies in which every filter finds something to look at, where there can be anything. */
function findableBodies (mapping: Mapping, { world }: Place): Body[] {
  const variants = Array.from({ length: 8 }, (_, pick) => new Bodies(mapping, findable(referringTo(world, pick))))
  const shows = (filter: Filter) => (body: Body) => {
    const resource = mapping.toFhir(mapping.withDefaults(body, createContext))
    return (
      valuesFinding(resource, filter).length > 0 ||
      (filter.hasText === true && wordsFinding(resource, filter).length > 0)
    )
  }
  return Object.values(mapping.filters).reduce((bodies, filter) => {
    if (bodies.some(shows(filter))) return bodies
    const more = firstOf(variants, variant => variant.least(shows(filter)))
    return more === undefined ? bodies : [...bodies, more]
  }, [variants[0]!.minimal(), ...variants[0]!.full()])
}

function firstOf<T, U> (items: readonly T[], find: (item: T) => U | undefined): U | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

async function found (t: Test, mapping: Mapping, place: Place): Promise<void> {
  const records = await Promise.all(findableBodies(mapping, place).map(async body => {
    const { data } = await create(mapping, place, body)
    return {
      id: data.id as string,
      updatedAt: data.updatedAt as string,
      stored: await place.server.read(mapping.type, data.id)
    }
  }))
  const search = async (query: Readonly<Record<string, string>>) => {
    const { status, data, text } = await place.client.send(
      'GET',
      `${mapping.path}?${new URLSearchParams({ count: '100', ...query })}`
    )
    if (status !== 200) return [`${status} ${text}`]
    return data.data.map(({ id }: { id: string }) => id) as string[]
  }
  const finds = async (t: Test, query: Readonly<Record<string, string>>, id: string) => {
    const ids = await search(query)
    t.ok(ids.includes(id), `${new URLSearchParams(query)} finds ${id}`, ids.includes(id) ? {} : { ids })
  }

  for (const [name, filter] of Object.entries(mapping.filters)) {
    const isSorted = filter.param !== noParameter
    if (isSorted && place.hasParameter?.(mapping.type, filter.param) === false) {
      await t.test(`${name}, which the server cannot search by, is refused`, async t => {
        const [value = 'x'] = records.flatMap(({ stored }) => valuesFinding(stored, filter))
        t.match(await search({ [name]: value }), [/^400 .*"code":"BAD_REQUEST"/])
        t.match(await search({ sort: name }), [/^400 .*"code":"BAD_REQUEST"/])
      })
      continue
    }
    await t.test(`${name} finds what it should and sorts`, async t => {
      const known = records.flatMap(({ id, stored }) => valuesFinding(stored, filter).map(value => ({ id, value })))
      const worded = filter.hasText
        ? records.flatMap(({ id, stored }) => wordsFinding(stored, filter).map(value => ({ id, value })))
        : []
      if (known.length + worded.length === 0) t.fail('no record has anything that this filter looks at')
      for (const { id, value } of known.slice(0, 1)) {
        await finds(t, { [name]: value, ...isSorted && { sort: name } }, id)
      }
      for (const { id, value } of worded.slice(0, 1)) await finds(t, { [`${name}:text`]: value, sort: `-${name}` }, id)
      const nothing = valueFindingNothing(filter)
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
    await finds(t, { updatedSince: updatedAt, sort: '-updatedSince' }, id)
    t.strictSame(await search({ updatedSince: '2999-12-31' }), [])
  })
}

async function changed (t: Test, bodies: Bodies, place: Place): Promise<void> {
  const { mapping } = bodies
  const others = new Bodies(mapping, referringTo(place.world, 1), 7)
  const { data } = await create(mapping, place, bodies.full()[0]!)
  let stored = await place.server.read(mapping.type, data.id)
  const patch = async (changes: Body) => {
    const answer = await place.client.send('PATCH', `${mapping.path}/${data.id}`, changes)
    if (answer.status !== 200) throw new Error(`${JSON.stringify(plainNumbers(changes))}: ${answer.text}`)
    stored = patchedBy(mapping, stored, changes)
    t.strictSame(
      differences(mapping, withoutIdentity(answer.data), mapping.toSimple(stored)),
      [],
      Object.keys(changes).join()
    )
  }
  // The field before is removed by the change of the next one where R4 allows that, which halves the requests.
  let removal: Body = {}
  for (const name of others.names) {
    let changes = changeOf(others, name, stored, removal)
    if (changes === undefined) {
      await patch(removal)
      changes = changeOf(others, name, stored)
    }
    if (changes === undefined) throw new Error(`no change of ${name} is allowed`)
    await patch(changes)
    removal = isRemovable(mapping, name, stored) ? { [name]: null } : {}
  }
  await patch(removal)
  const { meta, ...content } = await place.server.read(mapping.type, data.id)
  const { meta: _, ...expected } = stored
  t.strictSame(comparable(content), comparable(expected), 'the datastore holds exactly what was changed')
}

async function sentBack (t: Test, bodies: Bodies, { client, ...place }: Place): Promise<void> {
  const { mapping } = bodies
  const { data, headers } = await create(mapping, { client, ...place }, bodies.full()[0]!)
  const path = `${mapping.path}/${data.id}`
  const answer = await client.send('PATCH', path, data)
  t.equal(answer.status, 200, answer.text)
  t.equal(answer.headers.etag, headers.etag, 'there is no new version')
  t.strictSame(answer.data, data)
  const rounded = await client.send('PATCH', path, plainNumbers(data))
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

async function jsonPatched (t: Test, bodies: Bodies, place: Place): Promise<void> {
  const { mapping } = bodies
  const minimal = (await create(mapping, place, bodies.minimal())).data
  const full = bodies.full()[0]!
  const path = `${mapping.path}/${minimal.id}`
  const set = Object.entries(full).filter(([name, value]) => !deepEqual(minimal[name], value))
  const operations = set.map(([name, value]) => ({
    op: minimal[name] === undefined ? 'add' : 'replace',
    path: `/${name}`,
    value
  }))
  const answer = await place.client.send('PATCH', path, [
    { op: 'test', path: '/versionId', value: minimal.versionId },
    ...operations
  ])
  t.equal(answer.status, 200, answer.text)
  const expected = mapping.toSimple(
    mapping.patch(mapping.toFhir(mapping.withDefaults(bodies.minimal(), createContext)), Object.fromEntries(set))
  )
  t.strictSame(differences(mapping, withoutIdentity(answer.data), expected, full), [])
  const failing = await place.client.send('PATCH', path, [
    { op: 'test', path: '/versionId', value: minimal.versionId },
    { op: 'remove', path: '/identifiers' }
  ])
  t.equal(failing.status, 422)
  t.strictSame((await place.client.send('GET', path)).data, answer.data, 'a patch that does not apply changes nothing')
}

async function versioned (t: Test, bodies: Bodies, place: Place): Promise<void> {
  const { mapping } = bodies
  const { client } = place
  const first = await create(mapping, place, bodies.minimal())
  const path = `${mapping.path}/${first.data.id}`
  const stored: FhirResource = await place.server.read(mapping.type, first.data.id)
  const changes = bodies.names
    .map(name => changeOf(bodies, name, stored as StoredResource))
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

async function deleted (t: Test, bodies: Bodies, place: Place): Promise<void> {
  const { mapping } = bodies
  const { client } = place
  const { data, headers } = await create(mapping, place, bodies.minimal())
  const path = `${mapping.path}/${data.id}`
  const answer = await client.send('DELETE', path, undefined, { 'if-match': headers.etag! })
  t.strictSame([answer.status, answer.data], [200, { id: data.id, deleted: true }])
  for (const [method, change] of [['GET'], ['PATCH', {}], ['PATCH', []], ['DELETE']] as const) {
    t.match(
      (await client.send(method, path, change)).body,
      { data: null, code: 'NOT_FOUND', meta: { status: 404 } },
      method
    )
  }
  t.strictSame((await client.send('GET', `${mapping.path}?id=${data.id}`)).data.data, [])
}

async function appendOnly (t: Test, bodies: Bodies, place: Place): Promise<void> {
  const { mapping } = bodies
  const { data } = await create(mapping, place, bodies.minimal())
  const path = `${mapping.path}/${data.id}`
  const answer = await place.client.send('PATCH', path, {})
  t.match(answer.body, { data: null, code: 'METHOD_NOT_ALLOWED', meta: { status: 405 } })
  t.equal(answer.headers.allow, 'DELETE, GET, HEAD')
  t.strictSame((await place.client.send('GET', path)).data, data)
  t.equal((await place.client.send('DELETE', path)).status, 200)
  t.equal((await place.client.send('GET', path)).status, 404)
}
