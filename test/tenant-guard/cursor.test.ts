import { throws } from 'node:assert'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { catalog, Failure } from '../../src/envelope/failures.js'
import { hashFilters, createCursors } from '../../src/tenant-guard/cursor.js'

const binding = { tenant: 'tenant-a', mode: 'test', datastore: 'hapi', route: 'patients', type: 'Patient' }
const contents = {
  link: '?_getpages=3f2c&_getpagesoffset=20',
  filters: hashFilters([['name', 'x']]),
  count: 20,
  total: 61
}
const key = randomBytes(32)
let now = new Date('2026-01-01T00:00:00Z')
const cursors = createCursors({ key, now: () => now })

function isInvalid (error: unknown): boolean {
  return (
    error instanceof Failure &&
    error.code === 'INVALID_CURSOR' &&
    error.message === catalog.INVALID_CURSOR.remedy &&
    error.issues.length === 0
  )
}

t.test('a cursor contains what was put in, shows nothing of it, and no two are equal', async t => {
  const cursor = cursors.seal(contents, binding)
  t.strictSame(cursors.open(cursor, binding), contents)
  t.match(cursor, /^[A-Za-z0-9_-]+$/)
  t.notMatch(Buffer.from(cursor, 'base64url').toString('latin1'), /getpages|tenant|patients/)
  t.not(cursors.seal(contents, binding), cursor)
})

t.test('a cursor is valid for its tenant, mode, datastore, route and type, and no other', async () => {
  const cursor = cursors.seal(contents, binding)
  for (const name of Object.keys(binding)) {
    throws(() => cursors.open(cursor, { ...binding, [name]: 'other' }), isInvalid)
  }
  throws(() => cursors.open(cursor, { ...binding, tenant: 'tenant-a","test', mode: '' }), isInvalid)
})

t.test('a cursor is valid for fifty minutes', async t => {
  const cursor = cursors.seal(contents, binding)
  now = new Date('2026-01-01T00:49:59Z')
  t.strictSame(cursors.open(cursor, binding), contents)
  now = new Date('2026-01-01T00:50:00Z')
  throws(() => cursors.open(cursor, binding), isInvalid)
  now = new Date('2026-01-01T00:00:00Z')
})

t.test('a cursor of another key is refused, and a key of another length stops the start', async t => {
  throws(
    () => createCursors({ key: randomBytes(32), now: () => now }).open(cursors.seal(contents, binding), binding),
    isInvalid
  )
  t.throws(() => createCursors({ key: randomBytes(16), now: () => now }), /32 bytes/)
})

t.test('every change to a cursor is refused: a flipped bit, another spelling, a piece, something longer', async () => {
  const cursor = cursors.seal(contents, binding)
  const bytes = Buffer.from(cursor, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    throws(() => cursors.open(changed.toString('base64url'), binding), isInvalid)
  }
  for (let at = 0; at < cursor.length; at++) {
    for (const character of 'AZaz09-_+/= %') {
      if (character !== cursor[at]) {
        throws(() => cursors.open(cursor.slice(0, at) + character + cursor.slice(at + 1), binding), isInvalid)
      }
    }
    throws(() => cursors.open(cursor.slice(0, at), binding), isInvalid)
  }
  for (const odd of [`${cursor}=`, `${cursor}A`, ` ${cursor}`, `${cursor}\n`, cursor + cursor, cursor.repeat(200)]) {
    throws(() => cursors.open(odd, binding), isInvalid)
  }
})

t.test('no text is a cursor', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.base64String(),
        fc.uint8Array().map(bytes => Buffer.from(bytes).toString('base64url'))
      ),
      text => {
        throws(() => cursors.open(text, binding), isInvalid)
      }
    )
  )
})

t.test('filters are the same in any order, and others when anything differs', async t => {
  t.equal(hashFilters([['a', '1'], ['b', '2']]), hashFilters([['b', '2'], ['a', '1']]))
  const others = [
    [],
    [['a', '1']],
    [
      ['a', '2'],
      ['b', '1']
    ],
    [
      ['a', '1'],
      ['b', '2'],
      ['b', '2']
    ],
    [
      ['a', '1,b'],
      ['', '2']
    ]
  ] as const
  t.equal(
    new Set(
      [
        ...others,
        [
          ['a', '1'],
          ['b', '2']
        ] as const
      ].map(filters => hashFilters(filters))
    ).size,
    others.length + 1
  )
})
