/** The results of compiled code in the bytes of JSON, compared with those of the engine in its text. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { compileBytes } from '../../src/json/bytes/compile.js'
import { JsonBytes } from '../../src/json/bytes/json-bytes.js'
import { printCompiled } from '../../src/json/nodes/compile.js'

const source = join(import.meta.dirname, '../../src/json/bytes')
const base = 'http://a.test:8080/fhir/'
const longer = 'https://gateway.test/v1/fhir/'
const shorter = '/'

/** Parts of a server's response, most of them with something of the text that is searched. */
const chunk = fc.oneof(
  fc.constantFrom(base, base, base.slice(0, -1), base.slice(1), 'http://a.test:8080/', 'hhttp:', longer),
  fc.constantFrom('"reference"', '"reference', 'reference"', '"x-reference"', '\\"reference\\"', '"fullUrl":"', '"'),
  fc.constantFrom(':', ' : ', '\n:\t', ':"', '" ', ',', '{', '}', 'é𝔘', 'Patient/1', '\\', '\\\\', '\\"', '/'),
  fc.constantFrom(`"reference":"${base}`, `"reference" : "${base}`, `"reference"\n:\r\n\t"${base}`, `"reference":${base}`),
  { weight: 1, arbitrary: fc.constantFrom('\\/', 'http:\\/\\/a.test:8080\\/fhir\\/') },
  { weight: 2, arbitrary: fc.nat(40).map(length => 'x'.repeat(length)) }
)
const text = fc.array(chunk, { maxLength: 30 }).map(pieces => `{${pieces.join('')}`.toWellFormed())

const isValue = new RegExp(`"reference"\\s*:\\s*"${base}`)

/** Whether both searches of a text have the engine's result. */
function isTrue (bytes: JsonBytes, text: string): boolean {
  const [json, sought] = [Buffer.from(text), Buffer.from(base)]
  const isEscaped = text.includes('\\/')
  const hasMember = bytes.mayHaveMember(json, Buffer.from('"reference"'), sought)
  if (hasMember !== (isEscaped || isValue.test(text))) return false
  return [longer, shorter, ''].every(other =>
    bytes.replaceAll(json, sought, Buffer.from(other))?.toString() ===
      (isEscaped ? undefined : text.replaceAll(base, other)))
}

t.test('the compiled code is up to date with its source: npm run outline', async t => {
  t.equal(readFileSync(join(source, 'compiled.ts'), 'utf8'), printCompiled('bytes.as.ts', await compileBytes()))
})

t.test('the text is found wherever it occurs, and nothing else is', async () => {
  const bytes = new JsonBytes()
  fc.assert(fc.property(text, text => isTrue(bytes, text)), { numRuns: 5_000 })
})

/** Mistakes that the source could have. */
const mutants = [
  ['if (load<u8>(at - 1) !== quote) return false', ''],
  ['if (load<u8>(behind - 1) !== colon) return false', ''],
  ['name >= start && ', ''],
  ['memory.compare(name, other, otherLength) === 0', 'true'],
  ['while (load<u8>(here - 1) <= 0x20) here--', ''],
  ['at + soughtLength <= end && ', ''],
  ['at < escape && ', ''],
  ['&& memory.compare(at, sought, soughtLength) === 0', ''],
  ['found &= found - 1', 'found = 0'],
  ['escape + 1 < end', 'escape < end'],
  ['if (isEscaped || to + (at - from) + otherLength > limit) return -1', 'if (isEscaped) return -1'],
  ['return isEscaped ? 1 : 0', 'return 0'],
  ['from = at + soughtLength', 'from = at + soughtLength + 1'],
  ['at = find(at + soughtLength)', 'at = find(at + soughtLength + 16)'],
  ['v128.load(here + soughtLength - 1)', 'v128.load(here + soughtLength)']
] as const

/** More matches than the buffer of a result holds, in a short text. */
const dense = JSON.stringify(Array.from({ length: 20_000 }, () => 'h'))

/**
 * Texts that find each mistake, before random ones do: some follow each other, since the memory still holds the one
 * before.
 */
const examples = [
  `:"${base}`, `{"x":"${base}`, `{"x":"${base.slice(0, -1)}`, `{"reference":"${base}P`, `{"x":"${base}P","reference" : "${base}`, `{"x":"${base}`, `{"reference"|"${base}`,
  `{"reference":x${base}`, `{"xeference":"${base}`, `{"x":"x\\/"}${' '.repeat(20)}`, '{}', `{"x":"${base}"}`, '{"x":"'.padEnd(20),
  '{"x":"\\/', '{"x":"\\',
  `{"x":"http://a.test:8181/fhir/","reference":"${base}`, `{${'hhttp://a.test:8080/fhir/'.repeat(3)}`, `{"${base}\\/`,
  `{"x":"${base}${base}"`, `"${base}`, `{"${base}xx\\/`, `{hhhhh${base}`, `{x\\/${base}`
]

t.test('the examples find each mistake of the source', async t => {
  const isSound = (bytes: JsonBytes): boolean => {
    try {
      return examples.every(text => isTrue(bytes, text)) &&
        bytes.replaceAll(Buffer.from(dense), Buffer.from('h'), Buffer.from(longer)) === undefined
    } catch {
      return false
    }
  }
  t.ok(isSound(new JsonBytes()))
  for (const [find, replace] of mutants) {
    let occurrences = 0
    const code = await compileBytes((source: string) => {
      occurrences += source.split(find).length - 1
      return source.replace(find, () => replace)
    })
    t.equal(occurrences, 1, find)
    t.notOk(isSound(new JsonBytes({ code })), find)
  }
})

t.test('nothing is known of texts that are too long, or where there is no WebAssembly', async t => {
  const [json, sought, other] = ['{"x":"y"}', 'y', 'z'].map(text => Buffer.from(text)) as [Buffer, Buffer, Buffer]
  const long = Buffer.alloc(513, 'y')
  const bytes = new JsonBytes()
  t.equal(bytes.replaceAll(Buffer.alloc(10_000_000, ' '), sought, other), undefined)
  t.equal(bytes.mayHaveMember(Buffer.alloc(30_000_000, ' '), sought, other), true)
  for (const [json, none] of [[new JsonBytes({ api: null }), other], [new JsonBytes({ code: 'AAAA' }), other], [bytes, long]] as const) {
    t.equal(json.replaceAll(Buffer.from('{}'), sought, none), undefined)
    t.equal(json.mayHaveMember(Buffer.from('{}'), none, sought), true)
  }
  t.equal(bytes.replaceAll(json, sought, other)?.toString(), '{"x":"z"}', 'and the next text is')
})
