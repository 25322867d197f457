import t from 'tap'
import type { Failure } from '../../src/envelope/failures.js'
import { parseChanges } from '../../src/api/resources/changes.js'

const catchFailure = (body: unknown, shown = {}): Failure | undefined => {
  try {
    parseChanges(body, shown)
    return undefined
  } catch (error) {
    return error as Failure
  }
}

t.test('a merge below a field is that of RFC 7396', async t => {
  // The examples of its appendix A that have an object or null for a patch, one level down.
  const examples: Array<[before: unknown, patch: unknown, after: unknown]> = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a', 'b'], ['c', 'd'], ['c', 'd']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [undefined, { a: { bb: { ccc: null } } }, { a: { bb: {} } }]
  ]
  for (const [before, patch, after] of examples) {
    t.strictSame(
      parseChanges({ field: patch }, { field: before, other: 1 }),
      { field: after },
      JSON.stringify([before, patch])
    )
  }
})

t.test('a code that changes loses the text of the old one, and one that stays preserves it', async t => {
  const shown = { code: { system: 's', code: 'a', display: 'A', text: 'the A', codings: [{ code: 'b' }] } }
  t.strictSame(parseChanges({ code: { code: 'c' } }, shown), { code: { system: 's', code: 'c' } })
  t.strictSame(parseChanges({ code: { code: 'c', display: 'C' } }, shown), {
    code: { system: 's', code: 'c', display: 'C' }
  })
  t.strictSame(parseChanges({ code: { code: 'a', text: 'A!' } }, shown), { code: { ...shown.code, text: 'A!' } })
})

t.test('a JSON Patch names the fields that it works on', async t => {
  const shown = { id: '1', a: 1, b: { c: ['x'] }, gone: true }
  t.strictSame(parseChanges([
    { op: 'test', path: '/id', value: '1' },
    { op: 'replace', path: '/a', value: 2 },
    { op: 'add', path: '/b/c/0', value: 'w' },
    { op: 'remove', path: '/gone' },
    { op: 'copy', from: '/b/c/1', path: '/new' }
  ], shown), { a: 2, b: { c: ['w', 'x'] }, gone: null, new: 'x' })
  t.strictSame(
    parseChanges(
      [
        { op: 'replace', path: '/a', value: 2 },
        { op: 'replace', path: '/a', value: 1 }
      ],
      shown
    ),
    { a: 1 }
  )
  t.strictSame(
    parseChanges(
      [
        { op: 'move', from: '/a', path: '/x' },
        { op: 'copy', from: '/x', path: '/new' },
        { op: 'move', from: '/x', path: '/a' }
      ],
      shown
    ),
    { a: 1, new: 1 },
    'but not one that is there for a moment'
  )
  t.strictSame(shown, { id: '1', a: 1, b: { c: ['x'] }, gone: true }, 'what is shown stays as it is')
})

t.test(
  'an invalid JSON Patch is a bad request, and one that does not apply names its first bad operation',
  async t => {
    const none = [
      [{}],
      [null],
      ['remove'],
      [[]],
      [{ op: 'remove' }],
      [{ path: '/a' }],
      [{ op: 'delete', path: '/a' }],
      [{ op: 'add', path: '/a' }],
      [{ op: 'move', path: '/a' }],
      [{ op: 'copy', path: '/a', from: 'b' }],
      [{ op: 'replace', path: '', value: {} }],
      [{ op: 'add', path: 'a', value: 1 }],
      Array.from({ length: 1001 }, () => ({ op: 'test', path: '/a', value: 1 }))
    ]
    for (const body of none) t.equal(catchFailure(body, { a: 1 })?.code, 'BAD_REQUEST', JSON.stringify(body).slice(0, 80))
    for (const body of ['text', 1, true, null]) t.equal(catchFailure(body)?.code, 'BAD_REQUEST')
    for (const last of [
      { op: 'remove', path: '/b' },
      { op: 'replace', path: '/b', value: 1 },
      { op: 'test', path: '/a', value: 2 },
      { op: 'add', path: '/b/c', value: 1 },
      { op: 'add', path: '/list/5', value: 1 },
      { op: 'add', path: '/list/x', value: 1 },
      { op: 'add', path: '/a/b', value: 1 },
      { op: 'move', from: '/b', path: '/a' },
      { op: 'add', path: '/__proto__/x', value: 1 },
      { op: 'add', path: '/__proto__', value: {} },
      { op: 'copy', from: '/constructor/name', path: '/a' }
    ]) {
      const failure = catchFailure([{ op: 'test', path: '/a', value: 1 }, last], { a: 1, list: [1] })
      t.match(failure, { code: 'VALIDATION_ERROR', issues: [{ expression: ['[1]'] }] }, JSON.stringify(last))
    }
  }
)
