import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import type { BackendResponse } from '../../src/backends/backend.js'
import { compileOutline, printCompiled } from '../../src/tenant-guard/outline/compile.js'
import { createOutliner, type Outline } from '../../src/tenant-guard/outline/outline-bundle.js'
import { hasDuplicateMember } from '../../src/json/scan.js'
import { parseOwnedLines } from '../../src/tenant-guard/export/lines.js'
import type { TypeSearch } from '../../src/tenant-guard/export/searches.js'
import { formatBundle, parseOutlinedJson, parseBundle } from '../../src/tenant-guard/reads/backend-bundle.js'
import { rewriteUrlsInText } from '../../src/tenant-guard/public-urls.js'
import { parseCheckedJson, type TenantContext } from '../../src/tenant-guard/tenant-context.js'
import { verifyOwned } from '../../src/tenant-guard/verify-owned.js'

/** `OUTLINE_RUNS=1000000 npm run fuzz:outline` tries more texts than CI. */
const numRuns = Number(process.env.OUTLINE_RUNS ?? 10_000)
const source = join(import.meta.dirname, '../../src/tenant-guard/outline')
const baseUrl = 'http://datastore.test/fhir'
const context = { backend: { baseUrl }, fhirBase: 'http://gateway.test/v1/fhir' } as TenantContext
const tenant = { id: 'mine', system: 'urn:clinigate:tenant' }
const exportContext = {
  ...context, tenant, backend: { ...context.backend, normalize: (text: string) => text }, report: () => {}
} as unknown as TenantContext

type Members = Record<string, unknown>
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const pickMembers = (value: Members, ...names: string[]): Members =>
  Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)))

/** What the outline of a text says, by the engine's own parser. */
function toExpectedOutline (bundle: unknown): unknown {
  if (!isObject(bundle) || !Array.isArray(bundle.entry)) return bundle
  const entry = bundle.entry.map(item =>
    isObject(item) && isObject(item.resource) ? { ...item, resource: toIdentity(item.resource) } : item)
  return { ...bundle, entry }
}

function toIdentity (resource: Members): Members {
  const identity = pickMembers(resource, 'resourceType', 'id', 'meta')
  return isObject(identity.meta) ? { ...identity, meta: pickMembers(identity.meta, 'tag') } : identity
}

function tryParse (text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

type Outliner = (text: string) => Outline | undefined

/** An outliner of texts, with a memory of its own. */
function createTextOutliner (options: Parameters<typeof createOutliner>[0] = {}): Outliner {
  const outline = createOutliner(options)
  return text => outline(Buffer.from(text))
}

/** Whether the outline says what the whole text says, and where its entries are: only JSON is outlined. */
function isTrue (text: string, outline: Outline | undefined): boolean {
  if (outline === undefined) return true
  const expected = tryParse(text)
  const entries = tryParse(Buffer.from(text).subarray(outline.entriesStart).toString().trimEnd().slice(0, -1))
  return expected !== undefined && isDeepStrictEqual(toExpectedOutline(expected.value), outline.bundle) &&
    entries !== undefined && isDeepStrictEqual(entries.value, (expected.value as Members).entry)
}

/** What a client gets of the matches of a page. */
function renderMatches (body: string, parse: (response: BackendResponse) => unknown): string {
  try {
    const bundle = parseBundle(parse({ status: 200, headers: {}, body }))
    if (bundle === undefined) return 'no Bundle'
    const own = bundle.entries.filter(({ resource }) =>
      verifyOwned(resource, { tenant, type: 'Patient' }) !== undefined)
    const page = { type: 'searchset', response: { body }, total: bundle.total, links: [], shown: own } as const
    return formatBundle(context, bundle, page).toString()
  } catch (error) {
    return (error as Error).name
  }
}

const space = fc.constantFrom('', '', '', '', ' ', '\n', '\t \r\n')
const names = ['entry', 'resource', 'meta', 'tag', 'id', 'resourceType', 'system', 'code', 'fullUrl', 'extension']
const odd = ['contained', 'resourceTypes', 'resourcetype', 'resourceXype', 'met', 'metas', 'ids', 'entri', 'i', '',
  '__proto__', 'constructor', 'é', '\\u0065ntry', '\\u006deta', 'i\\u0064', '\\"', 'resource\\u0054ype', '1',
  'x'.repeat(40)]
const name = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...names) },
  { weight: 1, arbitrary: fc.constantFrom(...odd) }
)
const scalar = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }).map(text => JSON.stringify(text)),
  fc.constantFrom('"Patient"', '"Bundle"', '"searchset"', '"mine"', '"other"', '"urn:clinigate:tenant"', '"p1"'),
  fc.constantFrom('"\\ud800"', '"\\/"', '"\\u00e9\\n"', '"<div xmlns=\\"x\\">1</div>"', '"]}"', '"\\\\"', '"é\u2028𝔘"'),
  fc.constantFrom('0', '-0', '1.10', '1e5', '-12.5E-10', `${'9'.repeat(400)}`, 'true', 'false', 'null', '{}', '[]'),
  fc.integer({ min: 1, max: 400 }).map(depth => '['.repeat(depth) + ']'.repeat(depth))
)
const value = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }).map(items => `[${items.join(',')}]`),
    anyObject(fc.tuple(name, tie('value')))
  )
})).value

function anyObject (member: fc.Arbitrary<[string, string]>): fc.Arbitrary<string> {
  const named = fc.tuple(member, space)
  // Few objects name a member twice, so that most pages can be outlined.
  return fc.oneof(
    { weight: 9, arbitrary: fc.uniqueArray(named, { maxLength: 5, selector: ([[name]]) => name }) },
    { weight: 1, arbitrary: fc.array(named, { maxLength: 5 }) }
  )
    .map(members => members.map(([[name, value], space]) => `${space}"${name}"${space}:${space}${value}${space}`))
    .map(members => `{${members.join(',')}}`)
}

/** A tag, an own one in half of all cases; others are in places that count for nothing. */
const tag = fc.constantFrom('mine', 'mine', 'other', 'Mine').chain(code =>
  fc.constantFrom(
    `{"system":"urn:clinigate:tenant","code":"${code}"}`,
    `{"code":"${code}","system":"urn:clinigate:tenant"}`,
    `{"system":"URN:clinigate:tenant","code":"${code}"}`,
    '{"system":"http://x","code":"y"}'
  ))
const meta = fc.tuple(fc.array(tag, { minLength: 1, maxLength: 2 }), value).map(([tags, value]) =>
  `{"versionId":"1","tag":[${tags.join(',')}],"security":${value}}`)
const resource = fc.oneof(
  fc.tuple(meta, value, fc.constantFrom('Patient', 'Patient', 'Bundle')).map(([meta, value, type]) =>
    `{"resourceType":"${type}","id":"p1","meta":${meta},"contained":[${value}],"name":${value}}`),
  anyObject(fc.oneof(fc.tuple(name, value), fc.tuple(fc.constant('meta'), meta), fc.constant<[string, string]>(['id', '"p1"']))),
  value
)
const entry = fc.oneof(
  {
    weight: 4,
    arbitrary: resource.map(resource =>
      `{"fullUrl":"${baseUrl}/Patient/p1","resource":${resource},"search":{"mode":"match"}}`)
  },
  { weight: 1, arbitrary: anyObject(fc.oneof(fc.tuple(name, value), fc.tuple(fc.constant('resource'), resource))) },
  { weight: 1, arbitrary: value }
)
const entries = fc.array(entry, { maxLength: 3 }).map(entries => `[${entries.join(',')}]`)
const bundle = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(entries, space).map(([entries, space]) =>
      `{"resourceType":"Bundle","type":"searchset","total":1,${space}"entry":${entries}}`)
  },
  { weight: 1, arbitrary: anyObject(fc.oneof(fc.tuple(name, value), fc.tuple(fc.constant('entry'), entries))) }
)

/** The same text after a few changes of a hostile or broken server. */
const inserted = ['', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', '\u0000', '\u001f', '\u007f',
  '\ufeff', '\u00a0', 'é', '\\u12', '\\x', 'nul', '"meta":', '/**/', "'", ' ', '\t']
const edit = fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...inserted))
const changed = fc.tuple(bundle, fc.array(edit, { maxLength: 3 })).map(([text, edits]) =>
  edits.reduce((text, [at, length, insert]) => {
    const from = at % (text.length + 1)
    return text.slice(0, from) + insert + text.slice(from + length)
  }, text).toWellFormed())

const noValue = ['01', '-', '1.', '.5', '+1', '1e', '-01.5', 'nul', 'truex', '"\n"', "'a'", '"\\u00g0"', '"\\x"', '']

/** One value or bracket in the place of which is another, or none that JSON has. */
const broken = fc.tuple(bundle, fc.nat(), fc.constantFrom(...noValue)).map(([text, at, wrong]) => {
  const matches = [...text.matchAll(/\b(?:null|true|false|mine)\b|[}\]]/g)]
  const { 0: found = '', index = text.length } = matches[at % Math.max(matches.length, 1)] ?? {}
  const other = found === '}' ? ']' : found === ']' ? '}' : wrong
  return text.slice(0, index) + other + text.slice(index + found.length)
})
const text = fc.oneof(bundle, bundle, changed, broken)

/** What chance seldom makes: each is sent before the generated ones. */
const examples = [
  ...noValue.map(wrong => `"x":${wrong}`),
  '"\\u006deta":{}', '"i\\u0064":"2"', '"x":[1}', '"x":{"y":1]', '"x":[1', '"x":"\u0001"', '"x":{"y":"\u001f"}', '"x":1}}]}',
  '"resourceTypes":"a"', '"resourceXype":"a"', '"resourceTypo":"a"', '"xd":"1"', '"met_":{}', '"meta":{"tag":[]}', '"meta":{"tags":[]}'
].map(member => `{"entry":[{"resource":{"name":"x","id":"1",${member}}}]}`)

const holds = (outliner: Outliner) =>
  fc.property(text, text => isTrue(text, outliner(text)))

t.test('the compiled code is that of its source: npm run outline', async t => {
  t.equal(readFileSync(join(source, 'compiled.ts'), 'utf8'), printCompiled(await compileOutline()))
})

t.test('an outline says of records what the whole text says, whatever a server sends', async () => {
  fc.assert(holds(createTextOutliner()), { numRuns, examples: examples.map(text => [text]) })
})

t.test('by its outline a page shows what it shows by the whole text, and nothing that is not the tenant\'s', async t => {
  let [outlined, own] = [0, 0]
  const outliner = createTextOutliner()
  fc.assert(fc.property(text, body => {
    const expected = renderMatches(body, parseCheckedJson)
    if (outliner(body) !== undefined) outlined++
    if (expected.includes('"entry"')) own++
    const found = renderMatches(body, parseOutlinedJson)
    // A text that names a member twice, where this is harmless, is printed again in one of the two ways.
    return found === expected || JSON.stringify(tryParse(found)) === JSON.stringify(tryParse(expected) ?? expected)
  }), { numRuns })
  t.ok(outlined > numRuns / 4, `${outlined} of ${numRuns} were outlined`)
  t.ok(own > numRuns / 100, `${own} of ${numRuns} showed a record`)
})

/** Whose record it is, or which, depends on the parser: the last one counts in JavaScript, the first one elsewhere. */
const ownRecord = '{"resourceType":"Patient","id":"p1","meta":{"tag":[{"system":"urn:clinigate:tenant","code":"mine"}]}}'
const foreignRecord = ownRecord.replace('mine', 'other').replace('}}', '},"name":[{"family":"of another tenant"}]}')
const foreignMeta = '"meta":{"tag":[{"system":"urn:clinigate:tenant","code":"other"}],"source":"of another tenant"}'
const buildEntry = (resource: string, id = 'p1') => `{"fullUrl":"${baseUrl}/Patient/${id}","resource":${resource}}`
const buildPage = (entries: string) => `{"resourceType":"Bundle","type":"searchset","total":1,${entries}}`
const doubledRecords = [
  ownRecord.replace('"meta"', `${foreignMeta},"meta"`),
  ownRecord.replace('"meta"', `${foreignMeta.replace('meta', '\\u006deta')},"meta"`),
  ownRecord.replace('"tag"', '"tag":[{"system":"urn:clinigate:tenant","code":"of another tenant"}],"tag"'),
  ownRecord.replace('"id"', '"id" : "of another tenant",\n"id"'),
  ownRecord.replace('"code"', '"code":"of another tenant","code"')
]
const doubledPages = [
  buildPage(`"entry":[${buildEntry(foreignRecord)}],"entry":[${buildEntry(ownRecord)}]`),
  buildPage(`"entry":[${buildEntry(foreignRecord).replace(/}$/, `,"resource":${ownRecord}}`)}]`),
  buildPage(`"entry":[${buildEntry(ownRecord).replace('"fullUrl"', `"fullUrl":"${baseUrl}/Patient/of another tenant","fullUrl"`)}]`),
  ...doubledRecords.map(record => buildPage(`"entry":[${buildEntry(record)}]`))
]

t.test('a server that names a member twice shows no record of another tenant in place of what was checked', async t => {
  const outliner = createTextOutliner()
  for (const page of doubledPages) {
    for (const parse of [parseCheckedJson, parseOutlinedJson]) {
      const text = renderMatches(page, parse)
      t.match(text, '"mine"', page)
      t.notMatch(text, 'another tenant', page)
    }
    t.equal(outliner(page), undefined, 'it is not outlined')
  }
  for (const record of doubledRecords) {
    t.notMatch(rewriteUrlsInText(context, { body: record }), 'another tenant', record)
    const [line] = parseOwnedLines(exportContext, { type: 'Patient', searches: [] } satisfies TypeSearch, [record])
    t.notMatch(line!.text, 'another tenant', record)
  }
})

t.test('members that are named twice are found wherever a parser finds them, and nothing else is', async () => {
  const object = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'é', 'a\u0062', '"', '\\'), fc.constantFrom('a', 1, null)))
  const spellName = (name: string, isEscaped: boolean) => isEscaped
    ? `"${[...name].map(char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
    : JSON.stringify(name)
  fc.assert(fc.property(object, fc.infiniteStream(fc.boolean()), space, fc.nat(3), (members, escapes, space, depth) => {
    const names = members.map(([name]) => spellName(name, escapes.next().value))
    const text = `{${members.map(([, value], at) => `${names[at]}${space}:${space}${JSON.stringify(value)}`).join(',')}}`
    const nested = '[{"x":'.repeat(depth) + text + '}]'.repeat(depth)
    const isTwice = new Set(members.map(([name]) => name)).size < members.length
    return hasDuplicateMember(nested, depth * 2 + 1) === isTwice && !hasDuplicateMember(nested, depth * 2)
  }), { numRuns: 1_000 })
})

const onlyId = { entry: [{ resource: { id: '1' } }] }

t.test('every page without spelled-out names is outlined', async () => {
  const outliner = createTextOutliner()
  fc.assert(fc.property(fc.jsonValue(), value => {
    const text = JSON.stringify({ entry: [{ resource: { id: '1', text: value } }] })
    return isDeepStrictEqual(outliner(text)?.bundle, onlyId)
  }), { numRuns: 1_000 })
})

/** A tag that there is no room for in the outline, since each character has three bytes. */
const longTag = `{"entry":[{"resource":{"meta":{"tag":[{"code":"${'€'.repeat(100_000)}"}]}}}]}`
/** More entries than there is room for in the outline of so short a text. */
const dense = `{"entry":[${'{},'.repeat(200_000)}{}]}`

t.test('a page whose outline would be longer than it is parsed as a whole', async t => {
  const outliner = createTextOutliner()
  t.equal(outliner(longTag), undefined)
  t.equal(outliner(dense), undefined)
  t.same(outliner('{"entry":[{},{}]}')?.bundle, { entry: [{}, {}] }, 'and the next text is outlined')
})

/** Mistakes that the source could have. */
const mutants = [
  ['const behind = findSpecial(name)\n  if (load<u8>(behind) !== quote) return false', 'const behind = skipText(at) - 1'],
  ['nameLength === 12 && word', 'word'],
  ['&& load<u32>(name + 8) === typeRest', ''],
  ['return nameLength === length && word === expected', 'return word === expected || nameLength === length'],
  ['skipSpace(at) !== start + usize(length)', 'at === 0'],
  ['if (end > rest + 1) put(comma)', 'put(comma)'],
  ['if (fullUrl !== 0) return false', ''],
  ['if (hasResource || !readResource())', 'if (!readResource())'],
  ['if (type !== 0 || !readText())', 'if (!readText())'],
  ['if (id !== 0 || !readText())', 'if (!readText())'],
  ['if (hasMeta || !readMeta())', 'if (!readMeta())'],
  ['if (tags !== 0 || !readTags())', 'if (!readTags())'],
  ['(seen & bit) !== 0 || ', ''],
  ['fullUrl = type = id = tags = 0', ''],
  ['hasResource = hasMeta = false', ''],
  ['lastTags = lastRest = lastTagsLength = lastRestLength = 0', ''],
  ['&& memory.compare(one, other, length) === 0', ''],
  ['length === otherLength &&', ''],
  ['isFull = isFull || !isRoom(to - from)', ''],
  ['return !isFull && isRoom(0)', 'return true'],
  ['at = load<u8>(at) === quote ? skipText(at) : 0', 'at = skipValue(at)'],
  ['i8x16.lt_u(bytes, i8x16.splat(0x20))', 'i8x16.eq(bytes, i8x16.splat(0))'],
  ['if (next !== bracket) return 0', 'if (next !== closeObject && next !== closeList) return 0'],
  ['if (!isHexDigit(load<u8>(from + i))) return 0', ''],
  ['return here === from ? 0 : here', 'return here'],
  ['load<u8>(here) === zero ? here + 1 : skipDigits(here)', 'skipDigits(here)']
] as const

/** Pages of which each entry says something else than the one before it, at the same places. */
const differing = [
  '{"resource":{"id":"1","meta":{"tag":[{"code":"a"}]}},"search":{"mode":"match"}}',
  '{"resource":{"id":"1","meta":{"tag":[{"code":"b"}]}},"search":{"mode":"other"}}',
  '{"resource":{"id":"1","meta":{"tag":[{"code":"b","x":1}]}},"search":{"mode":"other","x":1}}',
  '{"fullUrl":"a","resource":{"resourceType":"a","id":"1","meta":{"tag":[]}}}', '{"fullUrl":0}', '{"resource":{"id":0}}',
  '{"resource":{"resourceType":{}}}', '{"resource":{"met_":{}}}', '{"resource":{}}', '{}', '{"search":{},"request":{}}'
].map((entry, at, entries) => `{"entry":[${entry},${entries[(at + 1) % entries.length]},{}]}`)

/** Entries that name a member twice; what the last one says is what the two say together. */
const doubledEntries = [
  '"resource":{},"resource":{"id":"1"}',
  '"resource":{"resourceType":"a","resourceType":"b"}',
  '"resource":{"meta":{},"meta":{"tag":[]}}',
  '"resource":{"meta":{"tag":[{"system":"a","system":"b"}]}}'
].map(members => `{"entry":[{${members}}]}`)

/** Whether an outliner says of a text what it should, or nothing. */
function isSound (outliner: Outliner, text: string): boolean {
  try {
    return isTrue(text, outliner(text))
  } catch {
    return false
  }
}

t.test('the examples find each mistake of the source', async t => {
  const once = '{"entry":[{"resource":{"meta":{"tag":[{"code":"a"}]}}}]}'
  const texts = [longTag, ...examples, ...differing, once, once, dense]
  for (const text of texts) t.ok(isSound(createTextOutliner(), text))
  const doubled = [...doubledPages, ...doubledEntries]
  for (const text of doubled) t.equal(createTextOutliner()(text), undefined)
  for (const [find, replace] of mutants) {
    let occurrences = 0
    const code = await compileOutline((source: string) => {
      occurrences += source.split(find).length - 1
      return source.replace(find, () => replace)
    })
    t.equal(occurrences, 1, find)
    const outliner = createTextOutliner({ code })
    const isFound = !texts.every(text => isSound(outliner, text)) ||
      doubled.some(page => outliner(page) !== undefined)
    t.ok(isFound, find)
  }
})

t.test('a left-out part may be as deep as the code supports; a deeper one is parsed as a whole', async t => {
  const buildDeepPage = (depth: number) => `{"entry":[{"resource":{"id":"1","x":${'['.repeat(depth)}${']'.repeat(depth)}}}]}`
  const outliner = createTextOutliner()
  t.same(outliner(buildDeepPage(513))?.bundle, onlyId)
  t.equal(outliner(buildDeepPage(514)), undefined)
  t.equal(outliner(buildDeepPage(1_000_000)), undefined)
  t.same(outliner(buildDeepPage(2))?.bundle, onlyId, 'and the next text is outlined')
})

t.test('a page of megabytes is outlined, and a larger one parsed as a whole', async t => {
  const buildLongPage = (length: number) => `{"entry":[{"resource":{"id":"1","x":"${'ä'.repeat(length)}"}}]}`
  const outliner = createTextOutliner()
  t.same(outliner(buildLongPage(6_000_000))?.bundle, onlyId)
  t.equal(outliner(buildLongPage(7_000_000)), undefined)
})

t.test('where there is no WebAssembly, or not all of it, every page is parsed as a whole', async t => {
  const page = JSON.stringify({ entry: [{ resource: { id: '1', x: 'y'.repeat(1000) } }] })
  t.equal(createTextOutliner({ api: null })(page), undefined)
  t.equal(createTextOutliner({ code: 'AAAA' })(page), undefined)
})
