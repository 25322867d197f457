import t from 'tap'
import { JsonBudget, parseStrict } from '../../src/json/json.js'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import type { Batch } from '../../src/tenant-guard/fhir-interaction.js'
import { startGateway } from '../harness/gateway.js'
import { bundle, patchEntry } from '../passthrough/fixture.js'

const { shapes: most } = new JsonBudget()
const parse = (text: string) => parseStrict(Buffer.from(text))
const objectOf = (names: readonly string[]) => `{${names.map(name => `"${name}":1`).join(',')}}`
const names = (count: number, prefix = 'x') => Array.from({ length: count }, (_, at) => `${prefix}${at}`)
const tooLarge = {
  name: 'JsonSyntaxError',
  reason: new RegExp(`^at most 2000000 values, .* at most ${most} different names or orders of names$`)
}

// The engine keeps something for each name after the names before it: 9 MB of objects with names of their own kept the
// gateway busy for 4 s.
t.test('a body has so many different names', async t => {
  t.equal(Object.keys(parse(objectOf(names(most))) as object).length, most)
  t.throws(() => parse(objectOf(names(most + 1))), tooLarge)
  t.equal(
    (
      parse(
        `[${names(most)
          .map(name => objectOf([name]))
          .join(',')}]`
      ) as unknown[]
    ).length,
    most,
    'in one object each'
  )
  t.throws(() => parse(`[${names(most + 1).map(name => objectOf([name])).join(',')}]`), tooLarge)
})

t.test('the same names in another order count once more, and in one order once', async t => {
  // Each order begins with another name, so that no two of them have a beginning in common.
  const orders = (count: number) =>
    `[${Array.from({ length: count }, (_, by) => objectOf([...names(250).slice(by), ...names(250).slice(0, by)])).join(',')}]`
  t.equal((parse(orders(most / 250)) as unknown[]).length, most / 250)
  t.throws(() => parse(orders(most / 250 + 1)), tooLarge)
  t.equal((parse(`[${Array(15_000).fill(objectOf(names(100))).join(',')}]`) as unknown[]).length, 15_000)
  t.equal(
    (
      parse(
        `[${Array(15_000)
          .fill(`{"a":${objectOf(names(50))},"b":[{"a":1}],"c":1}`)
          .join(',')}]`
      ) as unknown[]
    ).length,
    15_000,
    'what is within an object does not change its order'
  )
})

t.test('the patches of a Bundle share the bound', async t => {
  const patches = names(3).map(prefix =>
    patchEntry('Patient/1', [
      { op: 'add', path: '/x', value: JSON.parse(objectOf(names(most / 2 - 10, prefix))) as object }
    ])
  )
  const { entries } = parseInteraction({
    method: 'POST',
    path: [],
    query: [],
    body: bundle('batch', ...patches),
    isLenient: false,
    showsWritten: false,
    fhirBase: ''
  }) as Batch
  t.strictSame(
    entries.map(entry => ('failure' in entry ? entry.failure.code : entry.interaction.kind)),
    ['patch', 'patch', 'PAYLOAD_TOO_LARGE']
  )
})

t.test('a body with many unknown fields is told so, and one with too many is told as too large', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const send = (payload: string) =>
    gateway.inject({
      method: 'POST',
      url: '/v1/patients',
      headers: { 'x-api-key': secret, 'content-type': 'application/json' },
      payload
    })
  const some = await send(objectOf(names(5_000)))
  t.match(some.json(), {
    code: 'VALIDATION_ERROR',
    issues: { length: 101, 100: { code: 'too-costly', diagnostics: /^Only the first 100 issues are listed/ } }
  })
  t.match((await send(objectOf(names(60_000)))).json(), {
    code: 'PAYLOAD_TOO_LARGE',
    message: /^Send less at once: .*different names/
  })
})
