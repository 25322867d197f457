/** Every way to write through a gateway, with its events, tested on the given FHIR server. */
import type { Test } from 'tap'
import type { Scope } from '../../src/keys/caller.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

interface Event {
  readonly id: string
  readonly type: string
  readonly data: { readonly resourceType: string, readonly id: string, readonly versionId?: string }
  readonly requestId: string
}

const fhir = { 'content-type': 'application/fhir+json', accept: 'application/fhir+json' }
const patient = { resourceType: 'Patient', name: [{ family: 'Doe' }] }
const buildEntry = (method: string, url: string, resource?: object, more: object = {}) =>
  ({ request: { method, url, ...more }, ...resource && { resource } })
const buildBundle = (type: string, ...entries: object[]) => ({ resourceType: 'Bundle', type, entry: entries })

/** Runs the whole contract. */
export async function testWrites (t: Test, fhirUrl?: string): Promise<void> {
  const gateway = await startGateway(t, { config: { events: { enabled: true } }, ...fhirUrl && { fhirUrl } })

  /** A key of a new organization: `send` is a request, `events` those that were not listed yet. */
  async function createClient (mode: 'test' | 'live' = 'test') {
    const { secret, tenantId } = await gateway.createKey({ mode })
    let cursor: string | undefined
    const send = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, body?: object, headers = {}) =>
      await gateway.inject({
        method,
        url,
        headers: { authorization: `Bearer ${secret}`, ...body && { 'content-type': 'application/json' }, ...headers },
        ...body && { payload: JSON.stringify(body) }
      })
    const waitForEvents = async (expected: number): Promise<readonly Event[]> => {
      const found: Event[] = []
      await waitUntil(async () => {
        const { data } = (await send('GET', `/v1/events?wait=${expected === 0 ? 0 : 5}${cursor === undefined ? '' : `&cursor=${cursor}`}`)).json()
        cursor = data.cursor
        found.push(...data.data)
        return found.length >= expected
      })
      // One write after the other, so that an event too many would have come before this one.
      const marker = (await send('POST', '/v1/fhir/Basic', { resourceType: 'Basic', code: { text: 'x' } }, fhir)).json()
      for (let hasMarker = false; !hasMarker;) {
        const { data } = (await send('GET', `/v1/events?wait=5&cursor=${cursor}`)).json()
        cursor = data.cursor
        hasMarker = data.data.some((event: Event) => event.data.id === marker.id)
        found.push(...data.data.filter((event: Event) => event.data.id !== marker.id))
      }
      return found
    }
    const waitForTypes = async (expected: number) => (await waitForEvents(expected)).map(({ type }) => type)
    return { secret, tenantId, send, waitForEvents, waitForTypes }
  }

  await t.test('a simple resource: created, updated and deleted are one event each', async t => {
    const { send, waitForEvents } = await createClient()
    const made = await send('POST', '/v1/patients', { lastName: 'Doe', firstName: 'Ann', birthDate: '1990-01-01', gender: 'female' })
    t.equal(made.statusCode, 201, made.body)
    const { id } = made.json().data
    t.equal((await send('PATCH', `/v1/patients/${id}`, { lastName: 'Roe' })).statusCode, 200)
    t.equal((await send('DELETE', `/v1/patients/${id}`)).statusCode < 300, true)
    const found = await waitForEvents(3)
    t.match(found, [
      { type: 'patients.created', data: { resourceType: 'Patient', id, versionId: '1' } },
      { type: 'patients.updated', data: { resourceType: 'Patient', id, versionId: '2' } },
      { type: 'patients.deleted', data: { resourceType: 'Patient', id } }
    ])
    t.equal(found.length, 3)
    t.equal(found[0]!.requestId, made.headers['x-request-id'])
    t.notMatch(JSON.stringify(found), /Doe|Roe|Ann/, 'nothing clinical')
  })

  await t.test('raw FHIR: create, update, patch, delete, and their conditional forms', async t => {
    const { send, waitForTypes } = await createClient()
    const { id } = (await send('POST', '/v1/fhir/Patient', patient, fhir)).json()
    await send('PUT', `/v1/fhir/Patient/${id}`, { ...patient, id, gender: 'male' }, fhir)
    const patch = [{ op: 'replace', path: '/gender', value: 'female' }]
    await send('PATCH', `/v1/fhir/Patient/${id}`, patch, { 'content-type': 'application/json-patch+json' })
    await send('DELETE', `/v1/fhir/Patient/${id}`)
    t.strictSame(await waitForTypes(4), ['patients.created', 'patients.updated', 'patients.updated', 'patients.deleted'])

    const value = `v-${Date.now()}`
    const named = { ...patient, identifier: [{ system: 'urn:test', value }] }
    const criteria = `identifier=urn:test|${value}`
    const once = { ...fhir, 'if-none-exist': criteria }
    t.equal((await send('POST', '/v1/fhir/Patient', named, once)).statusCode, 201)
    t.equal((await send('POST', '/v1/fhir/Patient', named, once)).statusCode, 200)
    t.strictSame(await waitForTypes(1), ['patients.created'], 'a record that was found is no change')
    t.equal((await send('PUT', `/v1/fhir/Patient?${criteria}`, { ...named, gender: 'male' }, fhir)).statusCode, 200)
    t.equal((await send('DELETE', `/v1/fhir/Patient?${criteria}`)).statusCode, 204)
    t.equal((await send('DELETE', `/v1/fhir/Patient?${criteria}`)).statusCode, 204, 'finds none')
    t.strictSame(await waitForTypes(2), ['patients.updated', 'patients.deleted'])
  })

  await t.test('a create with an Idempotency-Key is one event, however often it is sent', async t => {
    const { send, waitForTypes } = await createClient()
    const key = { 'idempotency-key': `key-${Date.now()}` }
    for (let i = 0; i < 3; i++) await send('POST', '/v1/fhir/Patient', patient, { ...fhir, ...key })
    t.strictSame(await waitForTypes(1), ['patients.created'])
  })

  await t.test('each entry of a batch and of a transaction that changes something is one event', async t => {
    const { send, waitForTypes } = await createClient()
    const { id } = (await send('POST', '/v1/fhir/Patient', patient, fhir)).json()
    const other = (await send('POST', '/v1/fhir/Patient', patient, fhir)).json().id
    await waitForTypes(2)
    const entries = [
      buildEntry('POST', 'Patient', patient),
      buildEntry('PUT', `Patient/${id}`, { ...patient, id, gender: 'male' }),
      buildEntry('DELETE', `Patient/${other}`),
      buildEntry('GET', `Patient/${id}`)
    ]
    const done = await send('POST', '/v1/fhir', buildBundle('transaction', ...entries), fhir)
    t.equal(done.statusCode, 200, done.body)
    t.strictSame((await waitForTypes(3)).toSorted(), ['patients.created', 'patients.deleted', 'patients.updated'])
    const batch = [
      buildEntry('POST', 'Patient', patient),
      buildEntry('PUT', `Patient/${id}`, { ...patient, id, gender: 'female' }),
      buildEntry('DELETE', 'Patient/none-of-mine'),
      buildEntry('POST', 'Patient', { resourceType: 'Patient', generalPractitioner: [{ reference: 'Practitioner/none' }] })
    ]
    t.equal((await send('POST', '/v1/fhir', buildBundle('batch', ...batch), fhir)).statusCode, 200)
    t.strictSame((await waitForTypes(2)).toSorted(), ['patients.created', 'patients.updated'])
  })

  await t.test('a request that is rejected or fails creates no event', async t => {
    const { send, waitForTypes } = await createClient()
    await send('POST', '/v1/patients', { lastName: 1 })
    await send('DELETE', '/v1/patients/none')
    await send('PUT', '/v1/fhir/Patient/none', { ...patient, id: 'none' }, fhir)
    await send('POST', '/v1/fhir', buildBundle('transaction', buildEntry('POST', 'Patient', patient), buildEntry('DELETE', 'Patient/none')), fhir)
    t.strictSame(await waitForTypes(0), [])
  })

  await t.test('each line of an import is one event', async t => {
    const { secret, waitForTypes } = await createClient()
    const lines = [1, 2, 3].map(n => JSON.stringify({ ...patient, id: `line-${n}` })).join('\n')
    const job = await gateway.inject({
      method: 'POST',
      url: '/v1/bulk/import',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/fhir+ndjson' },
      payload: lines
    })
    t.equal(job.statusCode, 202, job.body)
    t.strictSame(await waitForTypes(3), Array(3).fill('patients.created'))
  })

  await t.test('another organization and another mode read none of it, not even with a cursor of the other', async t => {
    const [mine, foreign] = [await createClient(), await createClient()]
    await mine.send('POST', '/v1/fhir/Patient', patient, fhir)
    await mine.waitForEvents(1)
    const { data } = (await mine.send('GET', '/v1/events?count=1')).json()
    t.equal(data.data.length, 1)
    t.strictSame((await foreign.send('GET', '/v1/events')).json().data.data, [])
    t.equal((await foreign.send('GET', `/v1/events?cursor=${data.cursor}`)).json().code, 'INVALID_CURSOR')
  })

  await t.test('a key for some resources reads their events alone', async t => {
    const { tenantId, send, waitForEvents } = await createClient()
    await send('POST', '/v1/fhir/Patient', patient, fhir)
    await waitForEvents(1)
    const listTypes = async (scope: Scope, query = '') => {
      const { secret } = await gateway.createKey({ tenantId, scopes: [scope] })
      const headers = { authorization: `Bearer ${secret}` }
      const { data } = (await gateway.inject({ method: 'GET', url: `/v1/events${query}`, headers })).json()
      return data?.data.map(({ type }: Event) => type)
    }
    t.strictSame(await listTypes('patients:read'), ['patients.created'])
    t.strictSame(await listTypes('fhir/Basic:read', '?types=*'), ['fhir.Basic.created'])
    t.strictSame(await listTypes('fhir/Basic:read', '?types=patients.*'), [])
    t.strictSame(await listTypes('labs:read'), [])
    t.equal(await listTypes('patients:write'), undefined, 'a key that may only write sees none')
  })

  await t.test('types and since filter the list; unknown parameters and values are refused', async t => {
    const { send, waitForEvents } = await createClient()
    await send('POST', '/v1/fhir/Patient', patient, fhir)
    await waitForEvents(1)
    const countEvents = async (query: string) => (await send('GET', `/v1/events?${query}`)).json().data.data.length
    t.equal(await countEvents('types=patients.created'), 1)
    t.equal(await countEvents('types=patients.*,fhir.Basic.*'), 2)
    t.equal(await countEvents('types=patients.deleted'), 0)
    t.equal(await countEvents('since=2099-01-01T00:00:00Z'), 0)
    t.equal(await countEvents('since=2000-01-01T00:00:00Z&types=*'), 2)
    const refused = ['limit=1', 'types=', 'types=patients', 'types=a.b', 'types=patients.*,a.created', 'since=now', 'wait=31', 'wait=-1', 'cursor=x', 'count=1&count=2']
    for (const query of refused) t.equal((await send('GET', `/v1/events?${query}`)).statusCode, 400, query)
    const { message } = (await send('GET', '/v1/events?types=patients.*,observation.created')).json()
    t.match(message, 'types[1]: no such type of events; did you mean observations.created?')
  })
}
