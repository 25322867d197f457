import { spawnSync } from 'node:child_process'
import t from 'tap'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import { parseQuery, type QueryPair } from '../../src/envelope/query.js'
import { JsonBudget, parseStrict } from '../../src/json/json.js'
import type { Batch, Search } from '../../src/tenant-guard/interaction.js'
import { startGateway } from '../harness/gateway.js'
import { buildBundle, formType, assertRejected, buildPatchEntry, createFhirSender } from '../passthrough/fixture.js'

const { values: maxValues, exactNumbers: maxExact } = new JsonBudget()
const list = (item: string, length: number) => `[${`${item},`.repeat(length - 1)}${item}]`
const plain = { isLenient: false, showsWritten: false, fhirBase: 'http://gateway.test/v1/fhir' }

// 16 MiB of [1.0,1.0,…] blocked the gateway for 20 s, and took 1.8 GB; so did forms of two million names.
t.test('16 MiB that are rejected take little memory', async t => {
  const script = `
    import { parseQuery } from './src/envelope/query.ts'
    import { JsonBudget, parseStrict } from './src/json/json.ts'
    import { readFhirSearch } from './src/api/passthrough/search-request.ts'
    const fill = (part, head = '', tail = '') => head + part.repeat(16 * 1024 * 1024 / part.length - 20) + tail
    const requests = {
      numbers: () => parseStrict(Buffer.from(fill('1.0,', '[', '1]'))),
      objects: () => parseStrict(Buffer.from(fill('{},', '[', '1]'))),
      names: () => parseQuery(fill('name=a&'), Infinity),
      values: () => readFhirSearch('Patient', { query: [['_id', fill('a,')]], isLenient: false, fhirBase: '' }),
      keys: () => readFhirSearch('Patient', { query: [['_sort', fill('name,')]], isLenient: false, fhirBase: '' })
    }
    try {
      requests[process.argv[1]]()
    } catch (error) {
      console.log(error.name)
    }`
  for (const [request, refusal] of Object.entries({
    numbers: 'JsonSyntaxError',
    objects: 'JsonSyntaxError',
    names: 'Failure',
    values: 'Failure',
    keys: 'Failure'
  })) {
    const { stdout, signal } = spawnSync(
      process.execPath,
      [
        '--max-old-space-size=96',
        '--import',
        './test/harness/typescript.js',
        '--input-type=module',
        '--eval',
        script,
        request
      ],
      { encoding: 'utf8' }
    )
    t.match({ stdout, signal }, { stdout: refusal, signal: null }, request)
  }
})

t.test('a body holds at most two million values, and a hundred thousand numbers whose text is preserved', async t => {
  for (const [item, most] of [['1', maxValues], ['1.0', maxExact]] as const) {
    t.equal((parseStrict(Buffer.from(list(item, most))) as unknown[]).length, most)
    t.throws(() => parseStrict(Buffer.from(list(item, most + 1))), {
      name: 'JsonSyntaxError',
      reason: /^at most 2000000 values, of which 100000 may be/
    })
  }
  const send = await startSender(t)
  assertRejected(
    t,
    await send('POST', '/Patient', `{"resourceType":"Patient","x":${list('1.0', maxExact + 1)}}`),
    { status: 413, code: 'too-long', diagnostics: /^Send less at once: / },
    'told as too large'
  )
})

t.test('16 MiB of dense records are read', async t => {
  const component = {
    code: { coding: [{ system: 'http://loinc.org', code: '8480-6' }] },
    valueQuantity: { value: 120, unit: 'mmHg' }
  }
  const resource = {
    resourceType: 'Observation',
    status: 'final',
    component: Array.from({ length: 145 }, () => component)
  }
  const text = JSON.stringify(
    buildBundle(
      'transaction',
      ...Array.from({ length: 1_000 }, () => ({ resource, request: { method: 'POST', url: 'Observation' } }))
    )
  )
  t.ok(text.length > 15.5 * 1024 * 1024 && text.length < 16 * 1024 * 1024)
  t.match(parseStrict(Buffer.from(text)), { resourceType: 'Bundle' })
})

t.test('the patches of a Bundle hold together at most what a body may hold', async t => {
  const patches = Array.from({ length: 4 }, (_, at) => buildPatchEntry(`Patient/${at}`, []))
  for (const { resource } of patches as Array<{ resource: { data: string } }>) {
    resource.data = Buffer.from(`[{"op":"add","path":"/x","value":${list('1.0', maxExact / 2)}}]`).toString('base64')
  }
  const { entries } = parseInteraction({
    ...plain,
    method: 'POST',
    path: [],
    query: [],
    body: buildBundle('batch', ...patches)
  }) as Batch
  t.strictSame(
    entries.map(entry => ('failure' in entry ? entry.failure.code : entry.interaction.kind)),
    ['patch', 'patch', 'PAYLOAD_TOO_LARGE', 'PAYLOAD_TOO_LARGE']
  )
})

t.test('a query or form has at most a thousand parameters, and a thousand that are left out too', async t => {
  const query = (length: number) => Array.from({ length }, (_, at) => `name${at}=a`).join('&')
  t.equal(parseQuery(query(1_000)).length, 1_000)
  t.throws(() => parseQuery(query(1_001)), { code: 'BAD_REQUEST', message: 'query: at most 1000 parameters' })
  t.throws(() => parseQuery(`${'a:'.repeat(1_001)}=a`, Infinity), {
    code: 'BAD_REQUEST',
    message: /at most 2000 characters/
  })
  const send = await startSender(t)
  const lenient = { ...formType, prefer: 'handling=lenient' }
  t.equal((await send('POST', '/Patient/_search', query(1_000), lenient)).status, 200)
  assertRejected(
    t,
    await send('POST', '/Patient/_search', query(1_001), lenient),
    { status: 400, diagnostics: /at most 1000 parameters/ },
    'in a form'
  )
  assertRejected(
    t,
    await send('POST', '', buildBundle('transaction', { request: { method: 'GET', url: `Patient?${query(1_001)}` } })),
    { status: 400, diagnostics: /at most 1000 parameters/ },
    'in an entry'
  )
})

t.test('of the parameters of a search no more are read than it may have', async t => {
  for (const [name, most, message] of [
    ['identifier', 50, /search parameters/],
    ['subject:Patient.family', 20, /chains/],
    ['_include', 60, /_include/]
  ] as const) {
    let read = 0
    const pairs = Array.from({ length: 1_000 }, (_, at): QueryPair => [
      name,
      name === '_include' ? 'Observation:subject' : `${at}`
    ])
    const query = Object.assign([...pairs], {
      * [Symbol.iterator] () {
        for (const pair of pairs) {
          read++
          yield pair
        }
      }
    })
    t.throws(() => parseInteraction({ ...plain, method: 'GET', path: ['Observation'], query }) as Search, {
      code: 'BAD_REQUEST',
      message
    })
    t.equal(read, most + 1, name)
  }
})

t.test('an export names at most a thousand elements', async t => {
  const parseExport = (names: number) =>
    parseInteraction({
      ...plain,
      isLenient: true,
      method: 'GET',
      path: ['$export'],
      query: [['_elements', Array.from({ length: names }, (_, at) => `a${at}`).join(',')]]
    })
  t.match(parseExport(1_000), { kind: 'export' })
  t.throws(() => parseExport(1_001), { code: 'BAD_REQUEST', message: '_elements: at most 1000 names in one export' })
})

async function startSender (t: Parameters<typeof startGateway>[0]) {
  const gateway = await startGateway(t)
  return createFhirSender(gateway, (await gateway.createKey()).secret)
}

const { shapes: maxShapes } = new JsonBudget()
const parse = (text: string) => parseStrict(Buffer.from(text))
const printObject = (names: readonly string[]) => `{${names.map(name => `"${name}":1`).join(',')}}`
const buildNames = (count: number, prefix = 'x') => Array.from({ length: count }, (_, at) => `${prefix}${at}`)
const tooLarge = {
  name: 'JsonSyntaxError',
  reason: new RegExp(`^at most 2000000 values, .* at most ${maxShapes} different names or orders of names$`)
}

// The engine stores something for each name after the names before it: 9 MB of objects with names of their own blocked
// the gateway for 4 s.
t.test('a body has a maximum of different names', async t => {
  t.equal(Object.keys(parse(printObject(buildNames(maxShapes))) as object).length, maxShapes)
  t.throws(() => parse(printObject(buildNames(maxShapes + 1))), tooLarge)
  t.equal(
    (
      parse(
        `[${buildNames(maxShapes)
          .map(name => printObject([name]))
          .join(',')}]`
      ) as unknown[]
    ).length,
    maxShapes,
    'in one object each'
  )
  t.throws(() => parse(`[${buildNames(maxShapes + 1).map(name => printObject([name])).join(',')}]`), tooLarge)
})

t.test('the same names in another order count once more, and in one order once', async t => {
  // Each order begins with another name, so that no two of them have a common start.
  const printOrders = (count: number) =>
    `[${Array.from({ length: count }, (_, by) => printObject([...buildNames(250).slice(by), ...buildNames(250).slice(0, by)])).join(',')}]`
  t.equal((parse(printOrders(maxShapes / 250)) as unknown[]).length, maxShapes / 250)
  t.throws(() => parse(printOrders(maxShapes / 250 + 1)), tooLarge)
  t.equal((parse(`[${Array(15_000).fill(printObject(buildNames(100))).join(',')}]`) as unknown[]).length, 15_000)
  t.equal(
    (
      parse(
        `[${Array(15_000)
          .fill(`{"a":${printObject(buildNames(50))},"b":[{"a":1}],"c":1}`)
          .join(',')}]`
      ) as unknown[]
    ).length,
    15_000,
    'what is within an object does not change its order'
  )
})

t.test('the patches of a Bundle share the limit', async t => {
  const patches = buildNames(3).map(prefix =>
    buildPatchEntry('Patient/1', [
      { op: 'add', path: '/x', value: JSON.parse(printObject(buildNames(maxShapes / 2 - 10, prefix))) as object }
    ])
  )
  const { entries } = parseInteraction({
    method: 'POST',
    path: [],
    query: [],
    body: buildBundle('batch', ...patches),
    isLenient: false,
    showsWritten: false,
    fhirBase: ''
  }) as Batch
  t.strictSame(
    entries.map(entry => ('failure' in entry ? entry.failure.code : entry.interaction.kind)),
    ['patch', 'patch', 'PAYLOAD_TOO_LARGE']
  )
})

t.test('a body with many unknown fields gets 422 with an issue for each, and one with too many is too large', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const send = (payload: string) =>
    gateway.inject({
      method: 'POST',
      url: '/v1/patients',
      headers: { 'x-api-key': secret, 'content-type': 'application/json' },
      payload
    })
  const some = await send(printObject(buildNames(5_000)))
  t.match(some.json(), {
    code: 'VALIDATION_ERROR',
    issues: { length: 101, 100: { code: 'too-costly', diagnostics: /^Only the first 100 issues are listed/ } }
  })
  t.match((await send(printObject(buildNames(60_000)))).json(), {
    code: 'PAYLOAD_TOO_LARGE',
    message: /^Send less at once: .*different names/
  })
})
