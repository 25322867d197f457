import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { IdempotencyStore } from '../../src/idempotency/keyed-requests.js'
import { RequestFile } from '../../src/idempotency/request-file.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { create as createRecord } from '../../src/api/resources/writes.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { parseResponses, exchangeRaw } from '../harness/raw-http.js'
import { startWatched, type WatchedBackend } from '../harness/recording-backend.js'
import { createGateway, newTenant } from '../tenant-guard/guarded.js'

const person = { firstName: 'Ada', lastName: 'Byron' }
const appended = [{ op: 'add', path: '/identifiers/-', value: { system: 'http://ward', value: '1' } }]

interface EnvelopeResponse {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly data: any
  readonly code?: string
  readonly message?: string
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Requests of one tenant at one gateway; `key` is the Idempotency-Key. */
function createSender ({ inject }: Pick<TestGateway, 'inject'>, secret: string) {
  return async (
    method: Method,
    path: string,
    { key, payload, headers = {} }: { key?: string; payload?: unknown; headers?: object } = {}
  ): Promise<EnvelopeResponse> => {
    const response = await inject({
      method,
      url: `/v1/${path}`,
      headers: { 'x-api-key': secret, ...(key !== undefined && { 'idempotency-key': key }), ...headers },
      payload: payload as object
    })
    const { statusCode: status, headers: got } = response
    return { status, headers: got, ...response.json() }
  }
}

interface Variant {
  readonly callsOfWrite?: number
  /** More variables of the gateway. */
  readonly environment?: Readonly<Record<string, string>>
}

/** The guarantees of an Idempotency-Key, on every FHIR server. */
export async function testIdempotency (
  t: Test, fhirUrl: string, { callsOfWrite = 1, environment = {} }: Variant = {}
): Promise<void> {
  const backend = await startWatched(fhirUrl)
  t.after(() => backend.close())
  let sent = 0
  const clock = { ms: Date.now() }
  const gateway = await startGateway(t, { fhirUrl: backend.url, environment, now: () => new Date(clock.ms) })
  const createTenant = async () => {
    const { tenantId, secret } = await gateway.createKey()
    return { tenantId, secret, send: createSender(gateway, secret) }
  }
  const countCalls = (): number => backend.seen.length - sent
  const forget = (): void => { sent = backend.seen.length }
  const countRecords = async (send: ReturnType<typeof createSender>, path = 'patients'): Promise<number> =>
    (await send('GET', path)).data.total

  await t.test(
    'a create is made once; sent again it gets the first response, whatever happened to the record since',
    async t => {
      const { send } = await createTenant()
      const key = randomUUID()
      forget()
      const first = await send('POST', 'patients', { key, payload: { ...person, birthDate: '1990-03-14' } })
      t.equal(countCalls(), callsOfWrite)
      t.strictSame([first.status, first.headers['idempotent-replayed']], [201, undefined])
      forget()
      const again = await send('POST', 'patients', { key, payload: { birthDate: '1990-03-14', ...person } })
      t.equal(countCalls(), 1)
      t.strictSame([again.status, again.headers['idempotent-replayed'], again.data], [201, 'true', first.data])
      t.strictSame([again.headers.etag, again.headers.location], [first.headers.etag, first.headers.location])
      await send('PATCH', `patients/${first.data.id}`, { payload: { birthDate: '1991-03-14' } })
      forget()
      t.strictSame(
        (await send('POST', 'patients', { key, payload: { ...person, birthDate: '1990-03-14' } })).data,
        first.data
      )
      t.equal(countCalls(), 2)
      t.equal(await countRecords(send), 1)
    }
  )

  await t.test('a change is made once, also one that would add more each time', async t => {
    const { send } = await createTenant()
    const { data: { id } } = await send('POST', 'patients', { payload: { ...person, identifiers: [{ value: '0' }] } })
    const key = randomUUID()
    forget()
    const first = await send('PATCH', `patients/${id}`, { key, payload: appended })
    t.equal(countCalls(), callsOfWrite + 1)
    t.equal(first.data.identifiers.length, 2)
    await send('PATCH', `patients/${id}`, { payload: { active: false } })
    const again = await send('PATCH', `patients/${id}`, { key, payload: appended })
    t.strictSame([again.status, again.headers['idempotent-replayed'], again.data], [200, 'true', first.data])
    t.match((await send('GET', `patients/${id}`)).data, { active: false, identifiers: { length: 2 } })
  })

  await t.test('a change without effect has its response replayed too', async t => {
    const { send } = await createTenant()
    const { data: { id } } = await send('POST', 'patients', { payload: person })
    const key = randomUUID()
    const first = await send('PATCH', `patients/${id}`, { key, payload: { firstName: 'Ada' } })
    await send('PATCH', `patients/${id}`, { payload: { firstName: 'Grace' } })
    const again = await send('PATCH', `patients/${id}`, { key, payload: { firstName: 'Ada' } })
    t.strictSame([again.headers['idempotent-replayed'], again.data], ['true', first.data])
    t.equal((await send('GET', `patients/${id}`)).data.firstName, 'Grace')
  })

  await t.test('of concurrent requests with one key one is performed, and the others get 409 with Retry-After', async t => {
    const { send } = await createTenant()
    const { data: { id } } = await send('POST', 'patients', { payload: { ...person, identifiers: [{ value: '0' }] } })
    for (const count of [2, 20]) {
      const key = randomUUID()
      const creates = await Promise.all(
        Array.from({ length: count }, () => send('POST', 'encounters', { key, payload: { patientId: id } }))
      )
      const changes = await Promise.all(
        Array.from({ length: count }, () => send('PATCH', `patients/${id}`, { key: `${key}x`, payload: appended }))
      )
      for (const [responses, status] of [[creates, 201], [changes, 200]] as const) {
        t.equal(
          responses.filter(response => response.status === status && response.headers['idempotent-replayed'] === undefined)
            .length,
          1
        )
        const others = responses.filter(response => response.status !== status)
        t.ok(others.length > 0)
        for (const { code, headers } of others) t.strictSame([code, headers['retry-after']], ['CONFLICT', '1'])
      }
      const repeated = await send('POST', 'encounters', { key, payload: { patientId: id } })
      t.strictSame([repeated.status, repeated.headers['idempotent-replayed']], [201, 'true'])
    }
    t.equal(await countRecords(send, 'encounters'), 2)
    t.equal((await send('GET', `patients/${id}`)).data.identifiers.length, 3)
  })

  await t.test('a key that was used for another request is rejected, and nothing is done', async t => {
    const { send } = await createTenant()
    const { data: { id, versionId } } = await send('POST', 'patients', { payload: person })
    const { data: other } = await send('POST', 'patients', { payload: person })
    const [created, changed, refused] = [randomUUID(), randomUUID(), randomUUID()]
    await send('POST', 'patients', { key: created, payload: person })
    await send('PATCH', `patients/${id}`, { key: changed, payload: { active: false } })
    t.equal((await send('POST', 'patients', { key: refused, payload: { firstName: 1 } })).code, 'VALIDATION_ERROR')
    forget()
    const reuses: Array<[string, Method, string, unknown, object?]> = [
      [created, 'POST', 'patients', { ...person, birthDate: '1990-03-14' }],
      [created, 'POST', 'practitioners', person],
      [created, 'PATCH', `patients/${id}`, person],
      [changed, 'PATCH', `patients/${id}`, { active: true }],
      [changed, 'PATCH', `patients/${other.id}`, { active: false }],
      [changed, 'PATCH', `patients/${id}`, { active: false }, { 'if-match': `W/"${versionId}"` }],
      [refused, 'POST', 'patients', person]
    ]
    for (const [key, method, path, payload, headers] of reuses) {
      const { status, code } = await send(method, path, { key, payload, headers })
      t.strictSame([status, code], [422, 'IDEMPOTENCY_KEY_REUSED'])
    }
    t.equal(countCalls(), 0)
    t.strictSame([await countRecords(send), await countRecords(send, 'practitioners')], [3, 0])
  })

  await t.test('a key of another tenant, or of the other mode, is another key', async t => {
    const [mine, theirs] = [await createTenant(), await createTenant()]
    const live = createSender(gateway, (await gateway.createKey({ tenantId: mine.tenantId, mode: 'live' })).secret)
    const sibling = createSender(gateway, (await gateway.createKey({ tenantId: mine.tenantId })).secret)
    const key = randomUUID()
    const made = await Promise.all(
      [mine.send, theirs.send, live].map(send => send('POST', 'patients', { key, payload: person }))
    )
    t.strictSame(
      made.map(({ status, headers }) => [status, headers['idempotent-replayed']]),
      Array(3).fill([201, undefined])
    )
    t.equal(new Set(made.map(({ data: { id } }) => id)).size, 3)
    t.equal(
      (await theirs.send('POST', 'patients', { key, payload: { ...person, active: false } })).code,
      'IDEMPOTENCY_KEY_REUSED'
    )
    t.strictSame(
      (await sibling('POST', 'patients', { key, payload: person })).data,
      made[0]!.data,
      'another API key of the same tenant sends the same request'
    )
  })

  await t.test('a rejected request may be sent again with its key, and is performed when it is valid', async t => {
    const { send } = await createTenant()
    const key = randomUUID()
    const { data: { id } } = await send('POST', 'patients', { payload: person })
    const payload = { active: false }
    t.equal(
      (await send('PATCH', `patients/${id}`, { key, payload, headers: { 'if-match': 'W/"77"' } })).code,
      'PRECONDITION_FAILED'
    )
    t.equal(
      (await send('PATCH', `patients/${id}`, { key, payload, headers: { 'if-match': 'W/"77"' } })).code,
      'PRECONDITION_FAILED'
    )
    t.equal((await send('PATCH', 'patients/unknown', { key: `${key}-2`, payload })).code, 'NOT_FOUND')
    t.equal((await send('PATCH', 'patients/unknown', { key: `${key}-2`, payload })).code, 'NOT_FOUND')
    t.equal(
      (await send('PATCH', `patients/${id}`, { key: `${key}-3`, payload: { firstName: null, lastName: null } })).code,
      'VALIDATION_ERROR'
    )
    t.equal(
      (await send('PATCH', `patients/${id}`, { key: `${key}-3`, payload: { firstName: null, lastName: null } })).code,
      'VALIDATION_ERROR'
    )
  })

  await t.test('a record that was created and then deleted is not created again with the same key', async t => {
    const { send } = await createTenant()
    const [created, changed] = [randomUUID(), randomUUID()]
    const { data: { id } } = await send('POST', 'patients', { key: created, payload: person })
    await send('PATCH', `patients/${id}`, { key: changed, payload: { active: false } })
    await send('DELETE', `patients/${id}`)
    const again = await send('POST', 'patients', { key: created, payload: person })
    t.strictSame([again.status, again.headers['idempotent-replayed']], [409, undefined])
    t.match(again.message, /deleted since.*new Idempotency-Key/)
    t.equal((await send('PATCH', `patients/${id}`, { key: changed, payload: { active: false } })).code, 'NOT_FOUND')
    t.equal(await countRecords(send), 0)
  })

  await t.test('after 24 hours a key is new', async t => {
    const { send } = await createTenant()
    const [key, changed] = [randomUUID(), randomUUID()]
    const { data: first } = await send('POST', 'patients', { key, payload: person })
    await send('PATCH', `patients/${first.id}`, { key: changed, payload: { active: false } })
    clock.ms += 24 * 3_600_000 - 1_000
    t.equal((await send('POST', 'patients', { key, payload: person })).headers['idempotent-replayed'], 'true')
    clock.ms += 2_000
    const second = await send('POST', 'patients', { key, payload: person })
    t.strictSame([second.status, second.headers['idempotent-replayed']], [201, undefined])
    t.not(second.data.id, first.id)
    const third = await send('POST', 'patients', { key, payload: person })
    t.strictSame([third.headers['idempotent-replayed'], third.data], ['true', second.data])
    t.equal(
      (await send('PATCH', `patients/${second.data.id}`, { key: changed, payload: { active: true } })).status,
      200,
      'for another request as well'
    )
    clock.ms += 30 * 86_400_000
    t.equal((await send('POST', 'patients', { key, payload: { ...person, active: false } })).status, 201)
    t.equal(await countRecords(send), 3)
  })

  await t.test('a key is one header of 1 to 255 visible characters, on creates and changes alone', async t => {
    const { send, secret } = await createTenant()
    for (const key of ['', ' ', 'a b', 'ä', 'x'.repeat(256)]) {
      const { status, code } = await send('POST', 'patients', { key, payload: person })
      t.strictSame([status, code], [400, 'BAD_REQUEST'], key)
    }
    for (const keys of [['a', 'b'], ['a', 'a']]) {
      const body = JSON.stringify(person)
      const head = [
        'POST /v1/patients HTTP/1.1',
        'host: x',
        `x-api-key: ${secret}`,
        'content-type: application/json',
        ...keys.map(key => `idempotency-key: ${key}`),
        `content-length: ${body.length}`,
        'connection: close'
      ]
      const [response] = parseResponses(await exchangeRaw(gateway.url, `${head.join('\r\n')}\r\n\r\n${body}`))
      t.equal(response?.status, 400)
    }
    for (const key of ['!', '"quoted"', '~'.repeat(255), 'patients/1?x=%00']) {
      const { data: { id } } = await send('POST', 'patients', { key, payload: person })
      t.equal((await send('GET', `patients/${id}`, { key: 'a b' })).status, 200)
      t.equal((await send('DELETE', `patients/${id}`, { key })).status, 200)
    }
    t.equal(await countRecords(send), 0)
  })

  await testInterruptions(t, { backend, createTenant, countRecords })
  await testTwoGateways(t, fhirUrl)
}

interface Rig {
  readonly backend: WatchedBackend
  readonly createTenant: () => Promise<{ readonly send: ReturnType<typeof createSender> }>
  readonly countRecords: (send: ReturnType<typeof createSender>, path?: string) => Promise<number>
}

/** The datastore performs it, and its response never arrives; or it never gets the request. */
async function testInterruptions (t: Test, { backend, createTenant, countRecords }: Rig): Promise<void> {
  await t.test(
    'a create whose response was lost is found by the retry, and one that was never stored is stored by it',
    async t => {
      for (const what of ['answer', 'request'] as const) {
        const { send } = await createTenant()
        const key = randomUUID()
        const held = backend.hold(what, 'POST')
        const first = send('POST', 'patients', { key, payload: person })
        ;(await held).drop()
        t.match(await first, { status: 502, code: 'BACKEND_ERROR' })
        const again = await send('POST', 'patients', { key, payload: person })
        t.strictSame(
          [again.status, again.headers['idempotent-replayed'], again.data.versionId],
          [201, what === 'answer' ? 'true' : undefined, '1']
        )
        t.equal(await countRecords(send), 1)
        t.strictSame((await send('POST', 'patients', { key, payload: person })).data, again.data)
      }
    }
  )

  await t.test('a create that was lost is shown as it was made, though the record was changed since', async t => {
    const { send } = await createTenant()
    const key = randomUUID()
    const held = backend.hold('answer', 'POST')
    const first = send('POST', 'patients', { key, payload: person });
    (await held).drop()
    await first
    const { data: { data: [{ id }] } } = await send('GET', 'patients')
    await send('PATCH', `patients/${id}`, { payload: { firstName: 'Grace' } })
    t.match((await send('POST', 'patients', { key, payload: person })).data, { id, versionId: '1', firstName: 'Ada' })
  })

  await t.test(
    'a create that reaches the datastore after the retry was performed makes no second record',
    async t => {
      const { send } = await createTenant()
      const key = randomUUID()
      const held = backend.hold('request', 'POST')
      const first = send('POST', 'patients', { key, payload: person })
      const heldRequest = await held
      t.equal((await send('POST', 'patients', { key, payload: person })).code, 'CONFLICT', 'while it is under way')
      heldRequest.drop()
      await first
      t.equal((await send('POST', 'patients', { key, payload: person })).status, 201)
      t.equal((await heldRequest.pass()).status, 200)
      t.equal(await countRecords(send), 1)
    }
  )

  await t.test('a change whose response was lost is not made again, and one that was never made is', async t => {
    for (const what of ['answer', 'request'] as const) {
      const { send } = await createTenant()
      const key = randomUUID()
      const {
        data: { id, versionId }
      } = await send('POST', 'patients', { payload: { ...person, identifiers: [{ value: '0' }] } })
      const change = { key, payload: appended, headers: { 'if-match': `W/"${versionId}"` } }
      const held = backend.hold(what, 'PUT')
      const first = send('PATCH', `patients/${id}`, change);
      (await held).drop()
      t.match(await first, { status: 502 })
      const again = await send('PATCH', `patients/${id}`, change)
      t.strictSame(
        [again.status, again.headers['idempotent-replayed'], again.data.identifiers.length],
        [200, what === 'answer' ? 'true' : undefined, 2]
      )
      const { data } = await send('GET', `patients/${id}`)
      t.strictSame(data, again.data)
    }
  })

  await t.test('a change whose response was lost is distinguished from later changes of others', async t => {
    const { send } = await createTenant()
    const key = randomUUID()
    const { data: { id } } = await send('POST', 'patients', { payload: { ...person, identifiers: [{ value: '0' }] } })
    const held = backend.hold('answer', 'PUT')
    const first = send('PATCH', `patients/${id}`, { key, payload: appended });
    (await held).drop()
    await first
    await send('PATCH', `patients/${id}`, { payload: { active: false } })
    await send('PATCH', `patients/${id}`, { payload: { birthDate: '1990-03-14' } })
    const again = await send('PATCH', `patients/${id}`, { key, payload: appended })
    t.match(again, {
      status: 200,
      headers: { 'idempotent-replayed': 'true' },
      data: { identifiers: { length: 2 }, active: true }
    })
    t.match((await send('GET', `patients/${id}`)).data, { identifiers: { length: 2 }, active: false })
  })

  await t.test('a change with an unknown outcome is not made again, until the client decides', async t => {
    const { send } = await createTenant()
    const key = randomUUID()
    const { data: { id } } = await send('POST', 'patients', { payload: { ...person, identifiers: [{ value: '0' }] } })
    const held = backend.hold('request', 'PUT')
    const first = send('PATCH', `patients/${id}`, { key, payload: appended });
    (await held).drop()
    await first
    await send('PATCH', `patients/${id}`, { payload: { active: false } })
    for (let time = 1; time <= 2; time++) {
      const again = await send('PATCH', `patients/${id}`, { key, payload: appended })
      t.match(again, { status: 409, code: 'CONFLICT', message: /can no longer tell/ })
      t.equal(again.headers['retry-after'], undefined)
    }
    t.equal((await send('GET', `patients/${id}`)).data.identifiers.length, 1)
    t.equal(
      (await send('PATCH', `patients/${id}`, { key: randomUUID(), payload: appended })).data.identifiers.length,
      2
    )
  })

  await t.test(
    'a change that reaches the datastore after the retry was performed is not made twice',
    async t => {
      const { send } = await createTenant()
      const key = randomUUID()
      const {
        data: { id }
      } = await send('POST', 'patients', { payload: { ...person, identifiers: [{ value: '0' }] } })
      const held = backend.hold('request', 'PUT')
      const first = send('PATCH', `patients/${id}`, { key, payload: appended })
      const heldRequest = await held
      heldRequest.drop()
      await first
      t.equal((await send('PATCH', `patients/${id}`, { key, payload: appended })).status, 200)
      t.match((await heldRequest.pass()).status, /409|412/)
      t.equal((await send('GET', `patients/${id}`)).data.identifiers.length, 2)
    }
  )

  await t.test('a change that reaches the datastore during the retry is not made twice', async t => {
    const { send } = await createTenant()
    const key = randomUUID()
    const { data: { id } } = await send('POST', 'patients', { payload: { ...person, identifiers: [{ value: '0' }] } })
    const held = backend.hold('request', 'PUT')
    const first = send('PATCH', `patients/${id}`, { key, payload: appended })
    const heldRequest = await held
    heldRequest.drop()
    await first
    const heldAgain = backend.hold('request', 'PUT')
    const again = send('PATCH', `patients/${id}`, { key, payload: appended })
    const second = await heldAgain
    t.equal((await heldRequest.pass()).status, 200)
    await second.pass()
    t.match(await again, {
      status: 200,
      headers: { 'idempotent-replayed': 'true' },
      data: { identifiers: { length: 2 } }
    })
    t.equal((await send('GET', `patients/${id}`)).data.identifiers.length, 2)
  })
}

const hoursToMs = (hours: number): number => hours * 3_600_000

/** Gateways that share a datastore and nothing else. */
async function testTwoGateways (t: Test, fhirUrl: string): Promise<void> {
  const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400_000
  const createKeyedGateway = (t: Test, clock: { ms: number }) => {
    const datastore = createGateway(fhirUrl)
    const now = () => new Date(clock.ms)
    const keyedRequests = new IdempotencyStore({ storage: new RequestFile({ file: ':memory:', now }), now })
    t.teardown(async () => { keyedRequests.close(); await datastore.backend.close() })
    return async (tenantId: string, key: string, body: object = person) => {
      const createContext = {
        now: new Date(clock.ms).toISOString(),
        keyName: 'k',
        newUrl: () => 'http://example.org/1'
      }
      const request = { tenantId, mode: 'test', key, method: 'POST', route: 'patients', body } as const
      await using claim = await keyedRequests.claim(request)
      return await createRecord({ mapping: patients, store: datastore.guard(tenantId), createContext }, body, claim)
    }
  }
  const countPatients = async (tenantId: string): Promise<number | undefined> => {
    const { backend, guard } = createGateway(fhirUrl)
    t.teardown(() => backend.close())
    return (await guard(tenantId).search({ kind: 'search', type: 'Patient', parameters: [], route: 'patients' })).total
  }

  await t.test('concurrent creates with one key at several gateways make one record and give one response', async t => {
    const gateways = Array.from({ length: 5 }, () => createKeyedGateway(t, { ms: midnight }))
    for (let round = 1; round <= 3; round++) {
      const [tenantId, key] = [newTenant(), randomUUID()]
      const responses = await Promise.all(gateways.map(create => create(tenantId, key)))
      t.equal(new Set(responses.map(({ record }) => record.id)).size, 1)
      t.equal(responses.filter(({ isReplayed }) => !isReplayed).length, 1)
      t.equal(await countPatients(tenantId), 1)
    }
  })

  await t.test('a create is found by another gateway on the next day, but not after 24 hours', async t => {
    const clock = { ms: Date.now() }
    const [first, other] = [createKeyedGateway(t, { ms: clock.ms }), createKeyedGateway(t, clock)]
    const [tenantId, key] = [newTenant(), randomUUID()]
    const { record } = await first(tenantId, key)
    clock.ms = Math.max(clock.ms, Math.min(midnight + 1_000, clock.ms + hoursToMs(23)))
    t.match(await other(tenantId, key), { isReplayed: true, record: { id: record.id } })
    clock.ms = Date.now() + hoursToMs(25)
    const later = createKeyedGateway(t, clock)
    const made = await later(tenantId, key)
    t.equal(made.isReplayed, false)
    t.match(
      await createKeyedGateway(t, clock)(tenantId, key),
      { isReplayed: true, record: { id: made.record.id } },
      'and then the new one is'
    )
    t.equal(await countPatients(tenantId), 2)
  })

  await t.test('the tags of a tenant find no record of another', async t => {
    const [mine, theirs] = [newTenant(), newTenant()]
    const { backend, guard } = createGateway(fhirUrl)
    t.teardown(() => backend.close())
    const create = {
      kind: 'create-once',
      type: 'Patient',
      resource: { resourceType: 'Patient' },
      tags: ['one', 'two'],
      seenAt: new Date(),
      since: new Date(0)
    } as const
    const made = await guard(mine).createOnce(create)
    const other = await guard(theirs).createOnce(create)
    t.strictSame([made.isNew, other.isNew], [true, true])
    t.not(made.record.id, other.record.id)
    t.match(await guard(mine).createOnce(create), { isNew: false, record: { id: made.record.id } })
    const { record: copied } = await guard(mine).create({ kind: 'create', type: 'Patient', resource: made.record })
    t.notMatch(JSON.stringify(copied.meta), /idempotency/, 'a copy of a record takes no mark along')
  })
}
