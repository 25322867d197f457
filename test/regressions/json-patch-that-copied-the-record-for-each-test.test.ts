import t from 'tap'
import { applyPatch } from '../../src/envelope/json-patch.js'

// Each operation copied the whole record, some of them twice: a thousand tests on a large one took minutes, and nobody
// else was served meanwhile. The old way does not come to its end before the suite ends it.
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
