import t from 'tap'
import { applyPatch } from '../../src/envelope/json-patch.js'
import { startGateway } from '../harness/gateway.js'
import { builtIns, inheritedNames } from '../isolation/built-ins.js'

// The library read inherited members, so that a path like /hasOwnProperty/call wrote into the functions that every
// tenant's requests are served with: all of them got 500, and what one tenant had left there another could test.

const record = { text: 'a', number: 1, yes: true, list: ['a', { a: 1 }], object: { a: 1 }, null: null }
const holders = ['', '/text', '/number', '/yes', '/list', '/list/0', '/list/1', '/object', '/null']

t.test('no operation reaches what objects, lists, texts and numbers inherit', async t => {
  const before = builtIns()
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
  t.ok(builtIns() === before)
})

t.test('a name that objects inherit is a member like any other once it was added', async t => {
  const before = builtIns()
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
  t.ok(builtIns() === before)
})

t.test('the gateway serves on after a JSON Patch through inherited members', async t => {
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
  const before = builtIns()
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
  t.ok(builtIns() === before)
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
