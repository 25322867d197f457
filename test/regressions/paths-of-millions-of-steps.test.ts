import t from 'tap'
import { applyPatch } from '../../src/envelope/json-patch.js'
import { pathSegments } from '../../src/api/passthrough/fhir-request.js'

// A path of 16 MiB in an entry of a Bundle, or in a JSON Patch, was taken apart into eight million steps, which took
// almost a second.
t.test('of a long path no more segments are read than any path has', async t => {
  t.equal(pathSegments('/a'.repeat(1_000_000)).length, 10)
  t.strictSame(pathSegments('/Patient/1/_history/2'), ['Patient', '1', '_history', '2'])
})

t.test('a path of a JSON Patch has ten thousand characters', async t => {
  const add = (path: string) => [{ op: 'add', path, value: 1 }]
  t.strictSame(applyPatch(add(`/${'a'.repeat(9_999)}`), {}), { ['a'.repeat(9_999)]: 1 })
  t.throws(() => applyPatch(add(`/${'a'.repeat(10_000)}`), {}), {
    code: 'BAD_REQUEST',
    message: /at most 10000 characters in a path or from/
  })
})
