import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  ExactNumber,
  JsonSyntaxError,
  mapJson,
  maxDepth,
  parseStored,
  parseStrict,
  toPlainNumbers,
  printJson
} from '../src/json/json.js'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const parseText = (text: string): unknown => parseStrict(encode(text))

const digits = fc.stringMatching(/^\d{1,18}$/)
const integerPart = fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9]\d{0,20}$/))
const exponent = fc.stringMatching(/^[eE][+-]?\d{1,2}$/)

/** Every form of a number in a JSON text. */
const numberText = fc
  .tuple(fc.constantFrom('', '-'), integerPart, fc.option(digits, { nil: '' }), fc.option(exponent, { nil: '' }))
  .map(([sign, integer, fraction, exponent]) => sign + integer + (fraction && `.${fraction}`) + exponent)

/** Text with every character that has a meaning in JSON, brackets and numbers included. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('"', '\\', '\\"', '[1.10,', '{"a":1e5}', '}', ':', '1.10', '\u2028', '\n')
)
const jsonText = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    numberText,
    text.map(text => JSON.stringify(text)),
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('value'), { maxLength: 4 }).map(items => `[${items.join(',')}]`),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }).map(
      members =>
        `{${Object.entries(members)
          .filter(([name]) => name !== '__proto__')
          .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
          .join(',')}}`
    )
  )
})).value

t.test('every number is returned with its own text, from clients and from datastores', async () => {
  fc.assert(fc.property(numberText, number => {
    const alone = [number, `[${number}]`, `[0,\n${number}\t]`]
    const inObject = [
      `{"value":${number}}`, `{"value": ${number} }`, `{"a":"0","b" :\r\n${number}\n,"c":1}`,
      ...[`[${number}]`, `[0,${number}]`, `[ ${number} ,0]`].map(list => `{"a":1,"list":${list}}`)
    ]
    for (const body of [...alone, ...inObject]) {
      for (const read of [parseText, parseStored]) {
        if (printJson(read(body)).replace(/\s/g, '') !== body.replace(/\s/g, '')) return false
      }
    }
    return true
  }), { numRuns: 3000, seed: 1 })
})

t.test('every value is parsed as by the engine, except numbers', async () => {
  fc.assert(fc.property(jsonText, body => {
    const printed = JSON.stringify(JSON.parse(body))
    for (const read of [parseText, parseStored]) {
      const value = read(body)
      // Printing and parsing again preserves everything, and with plain numbers it is the engine's own value.
      if (printJson(read(printJson(value))) !== printJson(value)) return false
      if (JSON.stringify(toPlainNumbers(value)) !== printed) return false
    }
    return true
  }), { numRuns: 1500, seed: 1 })
})

t.test('invalid JSON is rejected with the position of the first mistake, and nothing of its text', async t => {
  const getReason = (text: string): string => {
    try {
      parseText(text)
      return 'taken'
    } catch (error) {
      return (error as JsonSyntaxError).reason
    }
  }
  for (const [text, position] of [
    ['{"a":1,}', '; see column 8'],
    ['{\n  "a": 1\n  "b": 2\n}', '; see line 3, column 3'],
    ['{"a":\'x\'}', '; see column 6'],
    ['{"a":1} x', '; see column 9'],
    ['// c\n{}', '; see line 1, column 1'],
    ['["x', '; see column 2'],
    [`["\n,${'['.repeat(200_000)}`, '; see line 1, column 2'],
    [`[${' '.repeat(2_000_000)}`, '']
  ] as const) {
    t.equal(getReason(text), `the body is not JSON${position}`, text.slice(0, 30))
  }
})

t.test('text that is no JSON for the engine is rejected', async () => {
  fc.assert(
    fc.property(
      jsonText,
      fc.nat(),
      fc.constantFrom('', ',', '"', '1', '.', '-', '}', ']', ':', '0', 'e', '\\', '\t'),
      (body, offset, junk) => {
        const at = offset % (body.length + 1)
        const broken = body.slice(0, at) + junk + body.slice(at + (junk === '' ? 1 : 0))
        let isJson = true
        try {
          JSON.parse(broken)
        } catch {
          isJson = false
        }
        let isTaken = true
        try {
          parseText(broken)
        } catch (error) {
          if (!(error instanceof JsonSyntaxError)) throw error
          isTaken = false
        }
        return isJson || !isTaken
      }
    ),
    { numRuns: 3000, seed: 1 }
  )
})

t.test('numbers that JavaScript represents exactly are plain, the others have their text', async t => {
  t.strictSame(parseText('[1, -5, 0.1, 36.6, 123456789012345]'), [1, -5, 0.1, 36.6, 123456789012345])
  for (const number of [
    '1.10',
    '-0',
    '1e2',
    '1E+2',
    '0.0',
    '100.00',
    '12345678901234567890',
    '0.1234567890123456789',
    '0.00000012'
  ]) {
    const [read] = parseText(`[${number}]`) as [ExactNumber]
    t.type(read, ExactNumber, number)
    t.equal(read.text, number)
    t.equal(Number(read), Number(number))
    t.equal(String(read), number)
  }
  t.strictSame(toPlainNumbers({ a: [new ExactNumber('1.10')], b: 'x' }), { a: [1.1], b: 'x' })
  const plain = { a: [1, { b: null }] }
  t.equal(toPlainNumbers(plain), plain, 'a value without such numbers is the same object')
})

t.test('undefined members are not printed', async t => {
  t.equal(
    printJson({ a: undefined, b: [undefined, 1], c: new ExactNumber('1.0'), d: undefined }),
    '{"b":[null,1],"c":1.0}'
  )
})

function requireRejected (t: Test, body: string | Uint8Array, reason: RegExp, name?: string): void {
  t.throws(
    () => parseStrict(typeof body === 'string' ? encode(body) : body),
    { name: 'JsonSyntaxError', reason },
    name ?? JSON.stringify(body).slice(0, 40)
  )
}

t.test('a name that occurs twice in one object is rejected, however it is written', async t => {
  for (const body of [
    '{"a":1,"a":2}',
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '[{"b":{"a":{},"a":{}}}]',
    '{"a":"x:y","a":1.10}'
  ]) { requireRejected(t, body, /twice/) }
  t.strictSame(parseText('{"a":{"a":1},"b":"\\":\\"","c":[{"a":2},{"a":2}]}'), {
    a: { a: 1 },
    b: '":"',
    c: [{ a: 2 }, { a: 2 }]
  })
  t.strictSame(
    parseStored('{"a":1,"a":2.0}'),
    { a: new ExactNumber('2.0') },
    'a datastore is believed: the last counts'
  )
})

t.test(`nesting stops at ${maxDepth} levels; brackets in text do not count`, async t => {
  const nestArrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  t.doesNotThrow(() => parseText(nestArrays(maxDepth)))
  requireRejected(t, nestArrays(maxDepth + 1), /deeper/)
  requireRejected(t, '{"a":'.repeat(100_000), /deeper/, 'unclosed')
  t.equal(parseText(JSON.stringify('[{'.repeat(1000))), '[{'.repeat(1000))
})

t.test('dangerous names and characters are rejected in names and in texts', async t => {
  for (const body of ['{"__proto__":{"a":1}}', '[{"\\u005f_proto__":1}]']) requireRejected(t, body, /__proto__/)
  for (const body of ['"\\u0000"', '{"a":["x\\u0000"]}', '{"\\u0000":1}']) requireRejected(t, body, /U\+0000/)
  for (const body of ['"\\ud800"', '{"a":"\\udc00\\ud800"}', '{"\\ud83d":1}']) requireRejected(t, body, /surrogate/)
  t.equal(parseText('"\\ud83d\\ude42 🙂"'), '🙂 🙂')
  t.notOk(Object.hasOwn(Object.prototype, 'a'))
})

t.test('bytes that are not UTF-8 and a byte order mark are refused', async t => {
  requireRejected(t, new Uint8Array([0x22, 0xff, 0x22]), /UTF-8/, 'no character')
  requireRejected(t, new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), /UTF-8/, 'half of a surrogate pair')
  requireRejected(t, new Uint8Array([0x22, 0xc0, 0xaf, 0x22]), /UTF-8/, 'an overlong form')
  requireRejected(t, '\ufeff{}', /byte order mark/)
})

t.test('text that other parsers tolerate is rejected', async t => {
  for (const body of [
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '01',
    '+1',
    '1.',
    '.5',
    'NaN',
    'Infinity',
    '/**/1',
    '1 2',
    '{"a" 1}',
    '"\t"',
    '{1.10:1}',
    '[1.10"x"]',
    '[1.10.2]',
    '\u00a01'
  ]) {
    requireRejected(t, body, /not JSON/)
  }
  for (const number of ['1e400', '-1e400', `1${'0'.repeat(400)}`, `0.${'1'.repeat(400)}`]) {
    requireRejected(t, `[${number}]`, /too large, too small or too long/)
  }
})

t.test('a reason never repeats the input', async t => {
  for (const body of [
    '{"secret":1,"secret":2}',
    '{"secret"',
    '"secret\\u0000"',
    '{"secret\\ud800":1}',
    '[1e999, "secret"'
  ]) {
    t.throws(() => parseText(body), { message: /^(?!.*secret)/ })
  }
})

t.test(
  'mapJson replaces a value wherever it occurs, by the name of its member, and preserves all other objects',
  async t => {
    const unchanged = { reference: 'Patient/1', text: 'Patient/1' }
    const exact = new ExactNumber('1.10')
    const value = { a: [unchanged, { deep: [{ uri: ['x', 'y'] }] }], exact, b: null }
    const after = mapJson(value, (item, name) => (name === 'uri' && item === 'x' ? 'z' : item))
    t.same(after, { a: [unchanged, { deep: [{ uri: ['z', 'y'] }] }], exact: { text: '1.10' }, b: null })
    t.equal(after.a[0], unchanged)
    t.equal(after.exact, exact)
    t.same(value.a[1], { deep: [{ uri: ['x', 'y'] }] }, 'what was given stays as it is')
    t.equal(
      mapJson(value, item => item),
      value,
      'nothing was replaced'
    )
    const ownProto = JSON.parse('{"__proto__":{"a":"x"}}') as object
    t.equal(
      JSON.stringify(mapJson(ownProto, item => (item === 'x' ? 'z' : item))),
      '{"__proto__":{"a":"z"}}',
      'a member with that name stays one'
    )
  }
)
