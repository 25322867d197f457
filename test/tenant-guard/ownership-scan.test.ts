import t, { type Test } from 'tap'
import { join } from 'node:path'
import type { Meta, StoredResource } from '../../src/mappings/fhir.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { CriteriaRefused, readCriteria } from '../../src/operator/ownership-scan/adopt-criteria.js'
import { ScanIndex } from '../../src/operator/ownership-scan/scan-index.js'
import { parseOwner, scanAll } from '../../src/operator/ownership-scan/scan.js'
import { withRetry } from '../../src/tenant-guard/retry.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { sendJson, startFaultyServer, type FaultyServer } from '../backends/faulty-server.js'
import { readSources } from '../harness/sources.js'
import { catchFailure } from './guarded.js'
import { runAdoption, openExistingServer, tenantSystem } from './operator.js'

async function startFaultyBackend (t: Test): Promise<{ server: FaultyServer, backend: HttpBackend }> {
  const server = await startFaultyServer()
  const backend = new HttpBackend({ name: 'faulty', baseUrl: server.url, retryPauseMs: 1 })
  t.teardown(async () => { await backend.close(); await server.close() })
  return { server, backend }
}

const record = (id: string, lastUpdated: string): object => ({
  resourceType: 'Patient',
  id,
  meta: { lastUpdated, versionId: '1' }
})
const buildPage = (records: readonly object[], next?: string): object => ({
  resourceType: 'Bundle',
  type: 'searchset',
  link: next === undefined ? [] : [{ relation: 'next', url: next }],
  entry: records.map(resource => ({ resource }))
})

async function scanIds (backend: HttpBackend, pageSize?: number): Promise<string[]> {
  const ids: string[] = []
  for await (const records of scanAll({
    send: request => backend.send(request),
    baseUrl: backend.baseUrl,
    type: 'Patient',
    pageSize
  })) { ids.push(...records.map(({ id }: StoredResource) => id)) }
  return ids
}

t.test('a scan reads the records of one instant by themselves, and goes on after it', async t => {
  const { server, backend } = await startFaultyBackend(t)
  const [one, two, three] = ['2030-01-01T00:00:00.001+00:00', '2030-01-01T00:00:00.002Z', '2030-01-01T00:00:00.003Z']
  server.behave(
    sendJson(200, buildPage([record('a', one), record('b', two)])),
    sendJson(200, buildPage([record('b', two), record('c', two)])),
    sendJson(200, buildPage([record('b', two)], `${server.url}?page=2`)),
    sendJson(200, buildPage([record('c', two)])),
    sendJson(200, buildPage([record('d', three)])),
    sendJson(200, buildPage([record('d', three)])),
    sendJson(200, buildPage([record('d', three)])),
    sendJson(200, buildPage([]))
  )
  t.same(await scanIds(backend, 2), ['a', 'b', 'c', 'd'])
  t.match(server.seen.map(({ url }) => decodeURIComponent(url)), [
    /^\/Patient\?_sort=_lastUpdated&_count=2&_total=none$/,
    /_lastUpdated=ge2030-01-01T00:00:00.002Z&_lastUpdated=le2030-01-01T00:00:00.002Z/,
    /_lastUpdated=ge2030-01-01T00:00:00.002Z&_lastUpdated=le2030-01-01T00:00:00.002Z/,
    /^\/\?page=2$/,
    /_lastUpdated=gt2030-01-01T00:00:00.002Z/
  ])
})

t.test('a scan ends with an error where it would miss records or loop', async t => {
  const { server, backend } = await startFaultyBackend(t)
  const [one, two] = ['2030-01-01T00:00:00.001Z', '2030-01-01T00:00:00.002Z']
  const cases: Array<[string, object[]]> = [
    ['a server that does not sort', [buildPage([record('b', two), record('a', one)])]],
    ['a server that passes over the condition', [buildPage([record('a', one)]), buildPage([]), buildPage([record('a', one)])]],
    ['a record without time', [buildPage([{ resourceType: 'Patient', id: 'a', meta: {} }])]],
    ['a record without id', [buildPage([{ resourceType: 'Patient', meta: { lastUpdated: one } }])]],
    ['a record of another type', [buildPage([{ ...record('a', one), resourceType: 'Group' }])]],
    ['a page that leads elsewhere', [buildPage([record('a', one)], 'http://evil.example/fhir?_getpages=1')]],
    ['an answer that is no searchset', [{ resourceType: 'Bundle', type: 'history' }]]
  ]
  for (const [name, bodies] of cases) {
    server.behave(...bodies.map(body => sendJson(200, body)))
    t.equal((await catchFailure(scanIds(backend))).code, 'BACKEND_ERROR', name)
  }
})

t.test('records too large for a page of many are read in smaller pages', async t => {
  const sandbox = await startSandbox({ file: join(t.testdir(), 'sandbox.db'), now: () => new Date() })
  const backend = new HttpBackend({ name: 'small', baseUrl: sandbox.url, maxResponseBytes: 65_536 })
  t.teardown(async () => { await backend.close(); await sandbox.close() })
  const server = openExistingServer(sandbox.url)
  await server.plantAll(
    Array.from({ length: 30 }, () => ({ resourceType: 'Patient', name: [{ family: 'x'.repeat(20_000) }] }))
  )
  t.equal((await scanIds(backend)).length, 30)
  await server.plant({ resourceType: 'Patient', name: [{ family: 'x'.repeat(70_000) }] })
  t.equal(
    (await catchFailure(scanIds(backend))).code,
    'BACKEND_ERROR',
    'and one that is too large by itself is an error, not passed over'
  )
})

t.test('a busy datastore is given the time that it names, and fewer requests', async t => {
  const { server, backend } = await startFaultyBackend(t)
  const waits: number[] = []
  let busy = 0
  const send = withRetry(backend, { pause: async ms => { waits.push(ms) }, onBusy: () => { busy++ } })
  const put = { method: 'PUT', path: 'Patient/1', body: '{}' } as const
  server.behave(
    sendJson(429, {}, { 'retry-after': '7' }),
    sendJson(503, {}, { 'retry-after': '3000' }),
    sendJson(503, {}),
    sendJson(200, {})
  )
  t.equal((await send(put)).status, 200)
  t.same([waits, busy], [[7_000, 60_000, 5_000], 3])
  server.behave(sendJson(503, {}))
  t.equal((await catchFailure(send(put))).code, 'BACKEND_UNAVAILABLE')
  t.equal(server.seen.length, 9, 'and is given up in the end')
})

t.test('a read that failed in the datastore is repeated, a write and a refused credential are not', async t => {
  const { server, backend } = await startFaultyBackend(t)
  const send = withRetry(backend, { pause: async () => {} })
  server.behave(sendJson(500, {}), sendJson(500, {}), sendJson(200, {}))
  t.equal((await send({ method: 'GET', path: 'Patient' })).status, 200)
  server.behave(sendJson(500, {}))
  await catchFailure(send({ method: 'PUT', path: 'Patient/1', body: '{}' }))
  t.equal(server.seen.length, 1)
  server.behave(sendJson(401, {}))
  await catchFailure(send({ method: 'GET', path: 'Patient' }))
  t.equal(server.seen.length, 1)
})

t.test('an unreachable datastore is given up at once', async t => {
  const backend = new HttpBackend({ name: 'nowhere', baseUrl: 'http://127.0.0.1:1/fhir' })
  t.teardown(() => backend.close())
  const send = withRetry(backend, { pause: async () => { throw new Error('waited') } })
  t.equal((await catchFailure(send({ method: 'GET', path: 'metadata' }))).code, 'BACKEND_UNAVAILABLE')
})

t.test('fewer writes are sent at a time after a datastore was busy', async t => {
  const { server, backend } = await startFaultyBackend(t)
  const all = Array.from({ length: 40 }, (_, at) => record(`p${at}`, '2030-01-01T00:00:00.001Z'))
  let [writing, puts] = [0, 0]
  const writesAtOnce: number[] = []
  server.behave((response, request) => {
    const isWrite = request.method === 'PUT'
    if (!isWrite) {
      return sendJson(
        200,
        /_lastUpdated=[gl]t/.test(decodeURIComponent(request.url!)) ? buildPage([]) : { ...buildPage(all), total: 40 }
      )(response, request)
    }
    writesAtOnce.push(++writing)
    const respond = (): void => {
      // None before as many are there as come at a time.
      if (writesAtOnce.length < 8) {
        setTimeout(respond, 5)
        return
      }
      writing--
      const id = request.url!.split('/').at(-1)!
      if (puts++ === 15) sendJson(503, {}, { 'retry-after': '1' })(response, request)
      else {
        sendJson(200, { ...record(id, ''), meta: { versionId: '2', tag: [{ system: tenantSystem, code: 't' }] } })(
          response,
          request
        )
      }
    }
    setTimeout(respond, 5)
  })
  const { states } = await runAdoption(backend, 't', 'Patient?active=true', { parallel: 8, pause: async () => {} })
  t.same([...new Set(Object.values(states))], ['adopted'])
  t.equal(Math.max(...writesAtOnce.slice(0, 15)), 8)
  t.ok(Math.max(...writesAtOnce.slice(-10)) <= 4)
})

t.test('what a datastore does not do as it should is a reason, and never a silent success', async t => {
  const { server, backend } = await startFaultyBackend(t)
  const stored = record('a', '2030-01-01T00:00:00.001Z')
  const cases: Array<[RegExp, object, number, object]> = [
    [/did not keep the tag/, stored, 200, stored],
    [/has come back/, stored, 201, stored],
    [/refused it \(422\)/, stored, 422, {}],
    [/refused it \(400 HAPI-1094\)/, stored, 400, { diagnostics: 'HAPI-1094: Patient/secret not found' }],
    [/changed by others again and again/, stored, 409, {}],
    [
      /a part of it only/,
      {
        ...stored,
        meta: {
          versionId: '1',
          lastUpdated: '2030-01-01T00:00:00.001Z',
          tag: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }]
        }
      },
      200,
      {}
    ],
    [/no version/, { ...stored, meta: { lastUpdated: '2030-01-01T00:00:00.001Z' } }, 200, {}],
    [/the datastore failed/, stored, 500, {}]
  ]
  for (const [reason, found, status, body] of cases) {
    server.behave((response, request) => {
      if (request.method === 'PUT') return sendJson(status, body)(response, request)
      sendJson(200, /_lastUpdated=[gl]t/.test(decodeURIComponent(request.url!)) ? buildPage([]) : buildPage([found]))(response, request)
    })
    const { states } = await runAdoption(backend, 't', 'Patient?active=true', { pause: async () => {} })
    t.match(states['Patient/a'], reason)
    t.notMatch(states['Patient/a'], /secret/)
  }
})

t.test("a file of a server's native export belongs to no tenant, and stays so", async t => {
  const { server, backend } = await startFaultyBackend(t)
  const file = {
    resourceType: 'Binary',
    id: 'f',
    meta: {
      versionId: '1',
      lastUpdated: '2030-01-01T00:00:00.001Z',
      extension: [{ url: 'https://hapifhir.org/NamingSystem/bulk-export-job-id', valueString: 'j' }]
    }
  }
  server.behave((response, request) =>
    sendJson(200, /_lastUpdated=[gl]t/.test(decodeURIComponent(request.url!)) ? buildPage([]) : buildPage([file]))(response, request)
  )
  t.same((await runAdoption(backend, 't', 'Binary?_id=f')).states, { 'Binary/f': 'export-file' })
  t.same(server.seen.filter(({ method }) => method !== 'GET'), [])
})

t.test('the owner of a record is read from its tags alone, and only one clear tag counts', async t => {
  const getOwnerKind = (tag: unknown): string =>
    parseOwner({ resourceType: 'Patient', meta: { tag } as Meta }, tenantSystem).kind
  const own = { system: tenantSystem, code: 'a' }
  t.same(
    [undefined, [], [{ system: `${tenantSystem}:idempotency`, code: 'a' }], [{ code: 'a' }], [null]].map(getOwnerKind),
    ['none', 'none', 'none', 'none', 'none']
  )
  t.same([[own], [{ ...own, version: '1' }]].map(getOwnerKind), ['one', 'one'])
  t.same(
    [
      [own, own],
      [own, { ...own, code: 'b' }],
      [own, { ...own, system: ` ${tenantSystem}` }]
    ].map(getOwnerKind),
    ['several', 'several', 'several']
  )
  t.same(
    [[{ ...own, system: `${tenantSystem} ` }], [{ system: tenantSystem }], [{ ...own, code: '' }], 'x', { 0: own }].map(
      getOwnerKind
    ),
    ['unclear', 'unclear', 'unclear', 'unclear', 'unclear']
  )
})

t.test('a search that a server might ignore in part is refused', async t => {
  t.same(readCriteria('Patient?organization=Organization/1&name:exact=a%26b'), {
    type: 'Patient',
    criteria: [
      ['organization', 'Organization/1'],
      ['name:exact', 'a&b']
    ]
  })
  t.same(
    readCriteria('Observation?_has:Provenance:target:agent=Organization/1&subject:Patient.name=x').criteria.length,
    2
  )
  const refused = [
    '',
    'Patient',
    'Patient?',
    'Pateint?name=x',
    'ValueSet?name=x',
    'Patient?name=',
    'Patient?name=,',
    'Patient?name=x&_count=1',
    'Patient?_lastUpdated=ge2020',
    'Patient?_nmae=x',
    'Patient?_summary=true',
    'Patient?name=x?y=z',
    'Patient? name=x'
  ]
  const tryReadCriteria = (search: string): unknown => {
    try {
      return readCriteria(search)
    } catch (error) {
      return error
    }
  }
  for (const search of refused) t.ok(tryReadCriteria(search) instanceof CriteriaRefused, search)
})

t.test(
  "the index drops a doubt when the target turns out to be the same tenant's, or the record was scanned again",
  async t => {
    const ledger = new ScanIndex()
    t.teardown(() => ledger.close())
    const note = (id: string, tenantId: string | undefined, ...targets: string[]): void =>
      ledger.storeRecord(
        { type: 'Observation', id, tenantId, state: 'owned' },
        targets.map(target => ({ path: 'Observation.subject', target }))
      )
    note('1', 'a', 'Patient/1', 'Patient/2')
    note('2', 'a', 'Patient/3')
    note('2', 'a')
    ledger.storeRecord({ type: 'Patient', id: '1', tenantId: 'a', state: 'owned' })
    ledger.storeRecord({ type: 'Patient', id: '2', tenantId: 'b', state: 'owned' })
    note('3', 'a', 'Patient/1')
    t.same(
      [...ledger.readSuspects(1)].flat().map(({ source, target }) => `${source} ${target}`),
      ['Observation/1 Patient/2']
    )
    t.same(ledger.countRecords(), [
      { type: 'Observation', state: 'owned', count: 3 },
      { type: 'Patient', state: 'owned', count: 2 }
    ])
  }
)

t.test('no route can reach the operator\'s scan, which no tag restricts', async t => {
  const sources = readSources(join(import.meta.dirname, '..', '..', 'src'))
  const walkers = /^operator\/ownership-scan\//
  const users = sources.filter(
    ({ path, imports }) => !walkers.test(path) && imports.some(imported => walkers.test(imported.path))
  )
  t.ok(users.length > 0)
  t.same(users.filter(({ path }) => !path.startsWith('operator/cli/')).map(({ path }) => path), [])
})
