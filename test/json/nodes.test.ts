import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { compileNodes, printCompiled } from '../../src/json/nodes/compile.js'
import { encodeText, JsonNodes, getNameId, outermost, type JsonNode } from '../../src/json/nodes/json-nodes.js'
import { printJson } from '../../src/json/json.js'

const names = ['a', 'name', 'telecom', 'eightchr', 'ninechars', 'sixteen_chars_ab', 'sixteen_chars_ac', 'xixteen_chars_ab', 'same_end_one_same_end', 'é', '']
const known = names.map(name => [name, getNameId(name)] as const)

/** A value without the members that are not searched. */
function pickKnown (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pickKnown)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    known.filter(([name]) => Object.hasOwn(value, name)).map(([name]) => [name, pickKnown(value[name as never])])
  )
}

/** The same from the nodes of a text. */
function toValue (nodes: JsonNodes, node: JsonNode): unknown {
  if (nodes.isObject(node)) {
    return Object.fromEntries(known.flatMap(([name, id]) => {
      const member = nodes.find(node, id)
      return member === 0 ? [] : [[name, toValue(nodes, member)]]
    }))
  }
  if (nodes.getSource(node)[0] === '[') {
    const items: unknown[] = []
    for (let item = nodes.firstItem(node); item !== 0; item = nodes.nextItem(node, item)) {
      items.push(toValue(nodes, item))
    }
    return items
  }
  const value = nodes.getValue(node)
  const kinds = { string: nodes.isString(node), boolean: nodes.isBoolean(node), object: nodes.isNull(node) }
  const isOfKind = nodes.isNumber(node) || kinds[typeof value as keyof typeof kinds]
  if (!isOfKind) throw new Error(`${nodes.getSource(node)} is taken for something else`)
  nodes.length = 0
  nodes.copy(node)
  if (nodes.takeOutput().toString() !== printJson(value)) throw new Error(`${nodes.takeOutput().toString()} is copied in place of ${printJson(value)}`)
  return typeof value === 'object' && value !== null ? Number(value) : value
}

function tryParse (text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Whether a text has the same nodes as in the engine's parser, or is not accepted. */
function isSound (nodes: JsonNodes, text: string): boolean {
  if (!nodes.open(Buffer.from(text))) return true
  const expected = tryParse(text)
  return expected !== undefined && isDeepStrictEqual(toValue(nodes, outermost), pickKnown(expected.value))
}

const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r ')
const scalar = fc.constantFrom(
  '""', '"a"', '"exactly16bytes!!"', '"more than sixteen bytes of text"', '"ä€😀"', '"\\""', '"\\u00e4\\n"', '"\\ud800"', '"a\\/b"',
  'true', 'false', 'null', '0', '-0', '1.10', '1e5', '-12.5E-3', '12345678901234567890', '{}', '[]', '{ }', '[ ]',
  // None of these is JSON.
  '01', '+1', '.5', '1.', 'tru', 'nul', '"\n"', '"\\x"', '"open', '\'a\'', 'NaN', ',', ''
)
const { value: json } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    { weight: 3, arbitrary: scalar },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.array(fc.tuple(tie('value'), space), { maxLength: 4 })).map(
        ([items]) => `[${items.map(([item, space]) => space + item + space).join(',')}]`)
    },
    {
      weight: 3,
      arbitrary: fc.array(
        fc.tuple(fc.oneof(fc.constantFrom(...names), fc.constantFrom('b', 'namf', 'nam', 'x'.repeat(70), '\\u0061', '"')),
          tie('value'), space), { maxLength: 5 }
      ).map(members =>
      `{${members.map(([name, value, space]) => `${space}"${name}"${space}:${space}${value}${space}`).join(',')}}`)
    }
  )
}))
const text = fc.oneof(
  { weight: 4, arbitrary: json },
  {
    weight: 1,
    arbitrary: fc.tuple(json, fc.nat(), fc.constantFrom('', '{', '}', ']', '[', ',', '"', ':', '\\', 'x', '0')).map(
      ([json, at, char]) => {
        const offset = at % (json.length + 1)
        return (json.slice(0, offset) + char + json.slice(offset + (at % 2))).toWellFormed()
      })
  }
)

const nestArrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const examples = [
  '{"a":1,"a":2}', '{"a":{"name":1},"name":2}', '{"name":1,"a":{"name":2}}', '[1,[2,[3]],4]', '{"a":[{},{"a":1},[]],"name":3}', '{"eightchr":1}',
  '{"ninechars":1}', '{"sixteen_chars_ac":1}', '{"xixteen_chars_ab":2}', '{"eightchs":1}', '{"a\\u0061":1}', '"\\"', '"a\\', '{"a":1,}', '[1,]', '[,1]',
  '{"a" 1}', '{a:1}', '1 2', '{} x', '[1}', '{"a":1]', '"\u0001"', '"\\ud83d\\ude00"', '""', '', ' ', '"exactly15bytes!"', '"sixteen bytes!!\\n"',
  // A searched name in the same place of the table as one that is not searched.
  '{"same_end_two_same_end":1}', '{"name":"a\\u0062","a":"ab"}', '{"a":"x","":"y"}'
]

t.test("a text has the nodes that the engine's parser finds", async t => {
  const nodes = new JsonNodes()
  let taken = 0
  const numRuns = Number(process.env.OUTLINE_RUNS ?? 10_000)
  fc.assert(fc.property(text, text => {
    if (nodes.open(Buffer.from(text))) taken++
    return isSound(nodes, text)
  }), { numRuns, examples: examples.map(text => [text]) })
  t.ok(taken > numRuns / 5, `${taken} texts were taken`)
})

t.test('every text without escapes in names is accepted, up to a hundred brackets', async t => {
  const nodes = new JsonNodes()
  fc.assert(fc.property(fc.jsonValue(), value =>
    JSON.stringify(value).match(/\\["u\\bfnrt][^"]*":/) !== null || nodes.open(Buffer.from(JSON.stringify(value)))))
  t.equal(nodes.open(Buffer.from(nestArrays(100))), true)
  t.equal(nodes.open(Buffer.from(nestArrays(101))), false)
  t.equal(nodes.open(Buffer.from(`{"a":${nestArrays(1_000_000)}}`)), false)
  t.equal(nodes.open(Buffer.from('{"a\\u0062":1}')), false)
  t.equal(nodes.open(Buffer.from('{"a":"\\u0062"}')), true, 'and the next text is taken')
})

t.test('large texts are accepted while there is room, and texts after them', async t => {
  const nodes = new JsonNodes()
  const printPage = (length: number): string => `{"a":[{"name":"${'ä'.repeat(length)}"}]}`
  for (const length of [1, 100_000, 10, 2_000_000, 3]) {
    t.ok(nodes.open(Buffer.from(printPage(length))))
    const [item] = [nodes.firstItem(nodes.find(outermost, getNameId('a')))]
    nodes.copy(nodes.find(item, getNameId('name')))
    t.equal(nodes.takeOutput().toString().length, length + 2)
  }
  t.equal(nodes.open(Buffer.from(printPage(10_000_000))), false)
  t.equal(nodes.open(Buffer.from(`[${'1,'.repeat(1_300_000)}1]`)), false, 'more values than there is room for')
  t.ok(nodes.open(Buffer.from('[1]')))
})

t.test('names that are registered later are found', async t => {
  const nodes = new JsonNodes()
  t.ok(nodes.open(Buffer.from('{"later":1}')))
  for (let i = 0; i < 1_000; i++) getNameId(`name-${i}`)
  t.ok(nodes.open(Buffer.from('{"name-7":{"name-999":2},"name-1000":3}')))
  t.equal(nodes.getValue(nodes.find(nodes.find(outermost, getNameId('name-7')), getNameId('name-999'))), 2)
  t.throws(() => getNameId('x'.repeat(65)), RangeError)
})

t.test('a text equals another however it is escaped', async t => {
  const nodes = new JsonNodes()
  for (const [text, isSame] of [
    ['"email"', true], ['"\\u0065mail"', true], ['"emails"', false], ['"Email"', false], ['"\\u0045mail"', false], ['1234567', false], ['["email"]', false]
  ] as const) {
    t.ok(nodes.open(Buffer.from(text)))
    t.equal(nodes.isSame(outermost, encodeText('email')), isSame, text)
  }
})

t.test('without WebAssembly, or without some of its features, no text is accepted', async t => {
  t.equal(new JsonNodes({ api: null }).open(Buffer.from('{}')), false)
  t.equal(new JsonNodes({ code: 'AAAA' }).open(Buffer.from('{}')), false)
})

t.test('the compiled code is up to date with its source', async t => {
  const compiled = readFileSync(join(import.meta.dirname, '../../src/json/nodes/compiled.ts'), 'utf8')
  t.equal(compiled, printCompiled('nodes.as.ts', await compileNodes()))
})

/** Mistakes that the source could have. */
const mutants = [
  ['name |= escaped', ''],
  ['|| skipSpace(at) !== textStart + usize(length)', ''],
  ['store<u32>(node, u32((end - first) >> 4), 12)', 'store<u32>(node, u32((node - first) >> 4) + 1, 12)'],
  ['=== u16(length) && memory.compare(known, name, length) === 0', '=== u16(length)'],
  ['return load<u8>(here) === quote ? here + 1 : 0', 'return load<u8>(here) >= 0x20 ? here + 1 : 0'],
  ['    if (char === closeList) return true\n    if (char !== comma) return false', '    if (char !== comma) return true'],
  ['    if (char === closeObject) return true\n    if (char !== comma) return false', '    if (char !== comma) return true'],
  ['if (end > limit) return false', '']
] as const

t.test('the examples find each mistake of the source', async t => {
  const many = `[${'1,'.repeat(500_000)}1]`
  for (const [find, replace] of mutants) {
    let occurrences = 0
    const code = await compileNodes((source: string) => {
      occurrences += source.split(find).length - 1
      return source.replace(find, () => replace)
    })
    t.equal(occurrences, 1, find)
    const nodes = new JsonNodes({ code })
    const isWrong = (text: string): boolean => {
      try {
        return !isSound(nodes, text)
      } catch {
        return true
      }
    }
    t.ok([...examples, many].some(isWrong), find)
  }
})
