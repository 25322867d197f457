import t from 'tap'
import { parsePathSegments } from '../../src/api/passthrough/fhir-request.js'
import { applyPatch } from '../../src/envelope/json-patch.js'
import { startGateway } from '../harness/gateway.js'
import { snapshotBuiltIns, inheritedNames } from '../isolation/built-ins.js'
import { assertRejected, patchType, buildPatient, createFhirSender } from '../passthrough/fixture.js'

// The JSON Patch library throws for such a path where it returns an error for others, and the client got 500.
t.test('a JSON Patch whose path leads below a text, a number or a boolean does not apply', async t => {
  const { inject, createKey } = await startGateway(t)
  const headers = { 'x-api-key': (await createKey()).secret }
  const { data } = (
    await inject({ method: 'POST', url: '/v1/patients', headers, payload: { firstName: 'Ada', lastName: 'Byron' } })
  ).json()
  const operations = [
    { op: 'add', path: '/firstName/x', value: 1 },
    { op: 'replace', path: '/firstName/x', value: 1 },
    { op: 'remove', path: '/firstName/x' },
    { op: 'add', path: '/active/x', value: 1 },
    { op: 'move', from: '/lastName', path: '/active/x' },
    { op: 'test', path: '/firstName/x/y', value: 1 }
  ]
  for (const operation of operations) {
    const response = await inject({ method: 'PATCH', url: `/v1/patients/${data.id}`, headers, payload: [operation] })
    t.match(
      response.json(),
      { code: 'VALIDATION_ERROR', issues: [{ expression: ['[0]'] }], meta: { status: 422 } },
      JSON.stringify(operation)
    )
  }
  t.strictSame((await inject({ url: `/v1/patients/${data.id}`, headers })).json().data, data)
})

// The library read inherited members, so that a path like /hasOwnProperty/call wrote into the functions that serve
// every tenant's requests: all of them got 500, and one tenant could test values that another had written there.

const record = { text: 'a', number: 1, yes: true, list: ['a', { a: 1 }], object: { a: 1 }, null: null }
const holders = ['', '/text', '/number', '/yes', '/list', '/list/0', '/list/1', '/object', '/null']

t.test('no operation reaches inherited members of objects, lists, texts and numbers', async t => {
  const before = snapshotBuiltIns()
  for (const holder of holders) {
    for (const name of inheritedNames) {
      const [path, below] = [`${holder}/${name}`, `${holder}/${name}/x`]
      const operations = [
        ...[path, below, `${path}/call`].flatMap(path => [
          { op: 'remove', path },
          { op: 'replace', path, value: 1 },
          { op: 'test', path, value: 1 },
          { op: 'copy', from: path, path: '/new' },
          { op: 'move', from: path, path: '/new' }
        ]),
        { op: 'add', path: below, value: 1 },
        { op: 'copy', from: '/text', path: below },
        { op: 'move', from: '/text', path: below }
      ]
      const applied = operations.filter(operation => isApplied([operation]))
      t.strictSame(applied, [], path)
    }
  }
  t.ok(snapshotBuiltIns() === before)
})

t.test('a name that objects inherit is a member like any other once it was added', async t => {
  const before = snapshotBuiltIns()
  for (const name of inheritedNames.filter(name => name !== '__proto__')) {
    const after = applyPatch(
      [
        { op: 'add', path: `/object/${name}`, value: { x: 1 } },
        { op: 'replace', path: `/object/${name}/x`, value: 2 }
      ],
      record
    ) as typeof record
    t.ok(Object.hasOwn(after.object, name))
    t.equal(
      JSON.stringify(applyPatch([{ op: 'remove', path: `/object/${name}` }], after)),
      JSON.stringify(record),
      name
    )
  }
  t.notOk(
    isApplied([{ op: 'add', path: '/object/__proto__', value: { x: 1 } }]),
    'but for the one that sets what the object is'
  )
  t.ok(snapshotBuiltIns() === before)
})

t.test('the gateway still serves after a JSON Patch through inherited members', async t => {
  const { inject, createKey } = await startGateway(t)
  const headers = { 'x-api-key': (await createKey()).secret }
  const { data } = (
    await inject({
      method: 'POST',
      url: '/v1/patients',
      headers,
      payload: { firstName: 'Ada', lastName: 'Byron', gender: 'female' }
    })
  ).json()
  const before = snapshotBuiltIns()
  for (const path of [
    '/hasOwnProperty/call',
    '/toString/call',
    '/gender/split/x',
    '/name/0/hasOwnProperty/call',
    '/name/map/call'
  ]) {
    const payload = [{ op: 'add', path, value: 1 }]
    const patch = {
      resourceType: 'Binary',
      contentType: 'application/json-patch+json',
      data: Buffer.from(JSON.stringify(payload)).toString('base64')
    }
    t.equal((await inject({ method: 'PATCH', url: `/v1/patients/${data.id}`, headers, payload })).statusCode, 422, path)
    t.equal(
      (await inject({ method: 'PATCH', url: `/v1/fhir/Patient/${data.id}`, headers, payload })).statusCode,
      422,
      path
    )
    const batch = {
      resourceType: 'Bundle',
      type: 'batch',
      entry: [{ resource: patch, request: { method: 'PATCH', url: `Patient/${data.id}` } }]
    }
    t.match(
      (await inject({ method: 'POST', url: '/v1/fhir', headers, payload: batch })).json(),
      { entry: [{ response: { status: /^422/ } }] },
      path
    )
  }
  t.ok(snapshotBuiltIns() === before)
  t.strictSame((await inject({ url: `/v1/patients/${data.id}`, headers })).json().data, data)
})

function isApplied (operations: readonly object[]): boolean {
  try {
    applyPatch(operations, record)
    return true
  } catch {
    return false
  }
}

// `remove /name/map` silently removed the first item, and `replace /name/length` made a list of four thousand million.
t.test('a JSON Patch reaches the items of a list and nothing else of it', async t => {
  const record = { name: ['a', 'b', 'c'] }
  for (const token of [
    'length',
    'map',
    'constructor',
    '-',
    '-1',
    '00',
    '01',
    '+1',
    '1.0',
    '1e0',
    '0x1',
    ' 1',
    '1 ',
    '',
    '3',
    '4294967295',
    '4294967294',
    '18446744073709551616'
  ]) {
    const path = `/name/${token}`
    const operations = [
      { op: 'remove', path },
      { op: 'replace', path, value: 4_294_967_295 },
      { op: 'test', path, value: 3 },
      { op: 'copy', from: path, path: '/other' },
      { op: 'move', from: path, path: '/other' },
      ...(token === '-' || token === '3' ? [] : [{ op: 'add', path, value: 'x' }])
    ]
    for (const operation of operations) {
      t.throws(() => applyPatch([operation], record), { code: 'VALIDATION_ERROR' }, JSON.stringify(operation))
    }
  }
  t.strictSame(
    applyPatch(
      [
        { op: 'add', path: '/name/-', value: 'd' },
        { op: 'add', path: '/name/4', value: 'e' },
        { op: 'remove', path: '/name/0' }
      ],
      record
    ),
    { name: ['b', 'c', 'd', 'e'] }
  )
})

// Each operation copied the whole record, some of them twice: a thousand tests on a large one took minutes, and no
// other request was served meanwhile. The old code does not finish before the suite ends it.
t.test('a thousand operations on a large record are applied where they point to', async t => {
  const record = { name: ['a'], items: Array.from({ length: 200_000 }, (_, at) => ({ at })) }
  const tests = Array.from({ length: 999 }, (_, at) => ({ op: 'test', path: `/items/${at}/at`, value: at }))
  t.strictSame((applyPatch([...tests, { op: 'add', path: '/name/-', value: 'b' }], record) as typeof record).name, [
    'a',
    'b'
  ])
  const others = Array.from({ length: 333 }, () => [
    { op: 'add', path: '/name/0', value: 'x' },
    { op: 'replace', path: '/name/0', value: 'y' },
    { op: 'remove', path: '/name/0' }
  ]).flat()
  t.strictSame((applyPatch(others, record) as typeof record).name, ['a'])
})

t.test(
  'a JSON Patch that copies a value into itself again and again is rejected before it fills the memory',
  async t => {
    const doubling = Array.from({ length: 60 }, (_, at) => ({ op: 'copy', from: '/list', path: `/list/${at}` }))
    t.throws(() => applyPatch(doubling, { list: ['a value'] }), { code: 'VALIDATION_ERROR' })
  }
)

t.test('copies of a sane size are made', async t => {
  const copies = Array.from({ length: 500 }, (_, at) => ({ op: 'copy', from: '/one', path: `/list/${at}` }))
  t.equal((applyPatch(copies, { one: 'x'.repeat(1_000), list: [] }) as { list: string[] }).list.length, 500)
})

// A path of 16 MiB in an entry of a Bundle, or in a JSON Patch, was split into eight million segments, which took
// almost a second.
t.test('of a long path no more segments are read than any path has', async t => {
  t.equal(parsePathSegments('/a'.repeat(1_000_000)).length, 10)
  t.strictSame(parsePathSegments('/Patient/1/_history/2'), ['Patient', '1', '_history', '2'])
})

t.test('a path of a JSON Patch has at most ten thousand characters', async t => {
  const add = (path: string) => [{ op: 'add', path, value: 1 }]
  t.strictSame(applyPatch(add(`/${'a'.repeat(9_999)}`), {}), { ['a'.repeat(9_999)]: 1 })
  t.throws(() => applyPatch(add(`/${'a'.repeat(10_000)}`), {}), {
    code: 'BAD_REQUEST',
    message: /at most 10000 characters in a path or from/
  })
})

// Any JSON type was read for any method, so a FHIRPath Patch was rejected for not being a list, and a patch could be
// sent to create.
t.test('a PATCH accepts a JSON Patch by its media type, and no other method does', async t => {
  const gateway = await startGateway(t)
  const send = createFhirSender(gateway, (await gateway.createKey()).secret)
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  assertRejected(t, await send('PATCH', `/Patient/${id}`, { resourceType: 'Parameters' }), 415, 'a resource as a patch')
  assertRejected(t, await send('POST', '/Patient', buildPatient(), patchType), 415, 'a patch as a resource')
  for (const headers of [patchType, { 'content-type': 'application/json' }]) {
    t.equal((await send('PATCH', `/Patient/${id}`, [{ op: 'add', path: '/active', value: true }], headers)).status, 200)
  }
})
