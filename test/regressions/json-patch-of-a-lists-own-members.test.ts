import t from 'tap'
import { applyPatch } from '../../src/envelope/json-patch.js'

// `remove /name/map` took the first item away in silence, and `replace /name/length` made a list of four thousand
// million.
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
