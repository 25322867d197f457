import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { applyPatch } from '../../src/envelope/json-patch.js'

interface Case {
  readonly comment?: string
  readonly doc: unknown
  readonly patch: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly expected?: unknown
  readonly error?: string
  readonly disabled?: boolean
}

const { resolve } = createRequire(import.meta.url)
const suites = ['spec_tests', 'tests'].map(
  name => [name, JSON.parse(readFileSync(resolve(`json-patch-test-suite/${name}.json`), 'utf8')) as Case[]] as const
)

// A record cannot be replaced whole here, so each document is one level down.
const prefixPointer = (pointer: unknown) =>
  pointer === '' || String(pointer).startsWith('/') ? `/doc${String(pointer)}` : pointer
const prefixOperation = (operation: Case['patch'][number]) => ({
  ...operation,
  ...('path' in operation && { path: prefixPointer(operation.path) }),
  ...('from' in operation && { from: prefixPointer(operation.from) })
})

for (const [name, cases] of suites) {
  t.test(`patches pass the common suite of RFC 6902: ${name}`, async t => {
    for (const { comment, doc, patch, expected, error } of cases.filter(one => one.disabled !== true)) {
      const before = JSON.stringify(doc)
      const message = `${comment ?? error ?? ''} ${JSON.stringify(patch)}`
      const apply = () => applyPatch(patch.map(prefixOperation), { doc })
      if (error !== undefined) t.throws(apply, { name: 'Failure', status: /^4/ }, message)
      else t.strictSame(apply(), { doc: expected ?? doc }, message)
      t.equal(JSON.stringify(doc), before, 'the document itself stays as it is')
    }
  })
}

t.test('a value that a patch adds stays as it was sent, whatever later operations do in it', async t => {
  const patch = [
    { op: 'add', path: '/a', value: { list: [1] } },
    { op: 'add', path: '/a/list/-', value: 2 },
    { op: 'copy', from: '/a', path: '/b' },
    { op: 'remove', path: '/b/list/0' },
    { op: 'test', path: '/a/list', value: [1, 2] }
  ]
  const sent = JSON.stringify(patch)
  t.strictSame(applyPatch(patch, {}), { a: { list: [1, 2] }, b: { list: [2] } })
  t.equal(JSON.stringify(patch), sent)
})

t.test('the first item appended to a missing list creates the list', async t => {
  const append = (path: string) => [{ op: 'add', path, value: 1 }]
  t.strictSame(applyPatch(append('/telecom/-'), { a: 1 }), { a: 1, telecom: [1] })
  t.strictSame(applyPatch(append('/a/b/-'), { a: {} }), { a: { b: [1] } })
  for (const path of ['/a/-', '/b/0', '/b/c/-', '/list/3/-']) {
    t.throws(() => applyPatch(append(path), { a: 1, list: [] }), { code: 'VALIDATION_ERROR' }, path)
  }
})

t.test('a patch creates no value that is nested deeper than a body may be', async t => {
  const nestObject = (levels: number): unknown => levels === 0 ? 1 : { a: nestObject(levels - 1) }
  const buildNestingPatch = (times: number) =>
    Array.from({ length: times }, () => [
      { op: 'add', path: '/next', value: nestObject(30) },
      { op: 'move', from: '/deep', path: `/next${'/a'.repeat(29)}/b` },
      { op: 'move', from: '/next', path: '/deep' }
    ]).flat()
  t.ok(applyPatch(buildNestingPatch(1), { deep: 1 }))
  t.throws(() => applyPatch(buildNestingPatch(3), { deep: 1 }), { code: 'VALIDATION_ERROR' })
  t.throws(() => applyPatch(buildNestingPatch(300), { deep: 1 }), { code: 'VALIDATION_ERROR' })
  t.throws(() => applyPatch([...buildNestingPatch(300), { op: 'copy', from: '/deep', path: '/other' }], { deep: 1 }), {
    code: 'VALIDATION_ERROR'
  })
})

t.test('items of long lists are moved a limited number of times', async t => {
  const inserts = Array.from({ length: 1000 }, () => ({ op: 'add', path: '/list/0', value: 1 }))
  const listOf = (length: number) => ({ list: new Array(length).fill(0) })
  t.equal((applyPatch(inserts, listOf(100_000)) as { list: number[] }).list.length, 101_000)
  t.throws(() => applyPatch(inserts, listOf(300_000)), { code: 'VALIDATION_ERROR' })
})
