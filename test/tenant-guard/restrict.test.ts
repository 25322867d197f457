import { deepStrictEqual as deepEqual, equal, ok } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { Failure } from '../../src/envelope/failures.js'
import type { SearchParameter } from '../../src/tenant-guard/interaction.js'
import { parsePageLink, listSearchPaths } from '../../src/tenant-guard/reads/pages.js'
import { restrict, formatTenantToken } from '../../src/tenant-guard/restrict.js'

const tenant = { id: 'tenant-a', system: 'urn:clinigate:tenant' }
const ownTag = '_tag=urn%3Aclinigate%3Atenant%7Ctenant-a'

function restrictSearch (...parameters: SearchParameter[]) {
  return restrict({ type: 'Observation', parameters, count: 20, total: 'accurate' }, tenant)
}

t.test("a search is sent with the tenant's tag as a condition of its own", async t => {
  t.strictSame(restrictSearch(), { method: 'GET', path: `Observation?${ownTag}&_count=20&_total=accurate` })
  t.match(restrict({ type: 'Observation', parameters: [], count: 20, total: 'none' }, tenant).path, /&_total=none$/)
  t.match(restrict({ type: 'Observation', parameters: [], count: 0 }, tenant).path, /&_count=0$/)
  t.equal(
    restrictSearch(['code:text', 'a&b=c#d'], ['date', 'ge2020-03-14']).path,
    `Observation?code%3Atext=a%26b%3Dc%23d&date=ge2020-03-14&${ownTag}&_count=20&_total=accurate`
  )
})

t.test('a tenant system with characters that mean something in a search is escaped', async t => {
  t.equal(formatTenantToken({ id: 'a,b', system: 'http://x|y$\\' }), 'http://x\\|y\\$\\\\|a\\,b')
  const { path } = restrict(
    { type: 'Patient', parameters: [], count: 1, total: 'accurate' },
    { id: 'a,b', system: 'http://x&y#z' }
  )
  t.equal(path, 'Patient?_tag=http%3A%2F%2Fx%26y%23z%7Ca%5C%2Cb&_count=1&_total=accurate')
})

t.test('a search that is too long for a URL goes by POST, with the tag in the URL and in the form', async t => {
  const ids = Array.from({ length: 200 }, (_, at) => `${at}`.padStart(64, '0')).join(',')
  const { method, path, form } = restrictSearch(['_id', ids])
  t.equal(method, 'POST')
  t.equal(path, `Observation/_search?${ownTag}&_count=20&_total=accurate`)
  t.equal(form, `_id=${encodeURIComponent(ids)}&${ownTag}&_count=20&_total=accurate`)
})

t.test('a legitimate search passes', async t => {
  const honest: SearchParameter[] = [
    ['_id', '1,2'],
    ['_lastUpdated', 'ge2020-01-01'],
    ['_sort', '-date,code'],
    ['_profile', 'http://x'],
    ['_security', 's|c'],
    ['_tag', 'http://ward|3,http://ward|4'],
    ['_tag', 'http://pipe\\|in|code'],
    ['subject', 'Patient/1'],
    ['subject:Patient', '1'],
    ['code', 'http://loinc.org|1-8'],
    ['code:text', 'x'],
    ['code:not', 'x'],
    ['value-string:exact', 'x'],
    ['value-string:contains', 'x'],
    ['date:missing', 'true'],
    ['value-quantity:missing', 'false'],
    ['subject:identifier', 'a|b'],
    ['identifier:of-type', 'a|b|c'],
    ['value-quantity', 'gt5.40|http://u|mg'],
    ['name', '\\,\\|\\$\\\\']
  ]
  for (const parameter of honest) t.doesNotThrow(() => restrictSearch(parameter), JSON.stringify(parameter))
})

t.test('whatever reaches beyond the tenant\'s own records is refused', async t => {
  const names = [
    '_has:Observation:patient:code',
    'subject.name',
    'subject:Patient.name',
    'subject:Patient._tag',
    '_filter',
    '_query',
    '_list',
    '_text',
    '_content',
    '_contained',
    '_containedType',
    '_pid',
    '_mdm',
    '_language',
    '_include',
    '_revinclude',
    '_include:iterate',
    '_type',
    '_getpages',
    '_getpagesoffset',
    '_offset',
    '_pageId',
    '_bundletype',
    '_count',
    '_total',
    '_summary',
    '_elements',
    '_format',
    '_TAG',
    '_Tag',
    '_tag:not',
    '_tag:missing',
    '_id:not',
    '_sort:asc',
    'ct',
    'code:in',
    'code:not-in',
    'code:above',
    'code:below',
    'code:foo',
    'code:exact',
    'code:Patient',
    'date:not',
    'date:text',
    'value-quantity:not',
    'value-string:not',
    'value-string:text',
    'subject:not',
    'subject:exact',
    'code-value-quantity:missing',
    'name:exact',
    'subject:[type]',
    'subject:Nothing',
    'subject:mdm',
    ' name',
    'name ',
    '?name',
    'na me',
    'name[]',
    'name;_tag',
    'name%00',
    'name&_tag',
    '',
    ':',
    'name:',
    '.',
    '__proto__',
    'Name'
  ]
  for (const name of names) t.throws(() => restrictSearch([name, 'x']), { code: 'UNKNOWN_FILTER' }, JSON.stringify(name))
  const values: SearchParameter[] = [
    ['name', ''],
    ['name', ' '],
    ['name', ','],
    ['name', ' , '],
    ['name', '\0'],
    ['name', '\ud800'],
    ['_sort', 'subject.name'],
    ['_sort', 'subject:Patient.name'],
    ['_sort', 'a,,b'],
    ['date:missing', '1'],
    ['date:missing', 'TRUE'],
    ['date:missing', 'true,false'],
    ['_tag', 'x'],
    ['_tag', '|x'],
    ['_tag', ' |x'],
    ['_tag', 'a|b|c'],
    ['_tag', 'http://ward|3,x'],
    ['_tag', 'urn:clinigate:tenant|tenant-b'],
    ['_tag', 'URN:clinigate:tenant |tenant-b'],
    ['_tag', 'http://ward|3,urn:clinigate:tenant|tenant-b'],
    ['_tag', 'urn:clinigate:tenant|'],
    ['_tag', 'urn\\:clinigate\\:tenant|tenant-b']
  ]
  for (const parameter of values) { t.throws(() => restrictSearch(parameter), { code: 'BAD_REQUEST' }, JSON.stringify(parameter)) }
  for (const count of [-1, 1001, 1.5, NaN]) {
    t.throws(() => restrict({ type: 'Patient', parameters: [], count }, tenant), { code: 'BAD_REQUEST' })
  }
})

const hostileText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      '_',
      't',
      'a',
      'g',
      '=',
      '&',
      '%',
      ';',
      '#',
      '?',
      '|',
      ',',
      '\\',
      ':',
      '.',
      '+',
      ' ',
      '\0',
      '%26_tag=',
      'urn:clinigate:tenant|tenant-b'
    )
  })
)
const hostileName = fc.oneof(hostileText, fc.constantFrom('_tag', '_id', 'name', 'subject:Patient', '_sort'))

t.test('no text of a parameter can widen a search', async () => {
  fc.assert(fc.property(fc.array(fc.tuple(hostileName, hostileText), { maxLength: 4 }), parameters => {
    let path: string
    let form: string | undefined
    try {
      ({ path, form } = restrictSearch(...parameters))
    } catch (error) {
      ok(error instanceof Failure && error.status === 400)
      return
    }
    const sent = [...new URLSearchParams(form ?? ''), ...new URL(path, 'http://datastore/').searchParams]
    // The server reads the client's parameters, and the gateway's own three after them.
    deepEqual(sent, [
      ...parameters,
      ['_tag', 'urn:clinigate:tenant|tenant-a'],
      ['_count', '20'],
      ['_total', 'accurate']
    ])
    const tags = sent
      .filter(([name]) => name === '_tag')
      .flatMap(([, value]) => value.match(/(?:\\.|[^,\\])+/gs) ?? [])
    equal(tags.filter(tag => tag.trim().toLowerCase().startsWith('urn:clinigate:tenant|')).length, 1)
    ok(/^Observation(\/_search)?\?[\x21-\x7e]*$/.test(path) && !path.includes('#'))
  }), { numRuns: 2000 })
})

t.test('a page link is followed below the datastore\'s own base URL alone', async t => {
  const base = 'http://127.0.0.1:8080/fhir'
  const link = (url: string) => parsePageLink(url, base, listSearchPaths('Patient'))
  t.equal(link(`${base}?_getpages=1&_getpagesoffset=20`), '?_getpages=1&_getpagesoffset=20')
  t.equal(link(`${base}/?_getpages=1`), '?_getpages=1')
  t.equal(link(`${base}/Patient?_offset=20&_tag=x%7Cy`), 'Patient?_offset=20&_tag=x%7Cy')
  t.equal(link('Patient?ct=abc'), 'Patient?ct=abc')
  t.equal(link('?_getpages=1'), '?_getpages=1')
  const elsewhere = [
    'http://127.0.0.1:8081/fhir?_getpages=1',
    'https://127.0.0.1:8080/fhir?_getpages=1',
    'http://evil.example/fhir?_getpages=1',
    '//evil.example/fhir?x',
    'http://u:p@127.0.0.1:8080/fhir?x',
    'http://127.0.0.1:8080/other?_getpages=1',
    'http://127.0.0.1:8080/fhirx?_getpages=1',
    `${base}/../admin?x`,
    `${base}/%2e%2e/admin`,
    `${base}/Observation?_offset=20`,
    `${base}/Patient/1`,
    `${base}/Patient/$everything`,
    `${base}/$export`,
    `${base}/Patient/%5Fsearch`,
    'file:///etc/passwd',
    'http://',
    'javascript:1'
  ]
  for (const url of elsewhere) t.equal(link(url), undefined, url)
})

t.test('years and months after ge and le become their days, and nothing else does', async t => {
  const restrictParameter = (name: string, value: string): string =>
    decodeURIComponent(
      restrict({ type: 'Observation', parameters: [[name, value]], count: 1 }, tenant)
        .path.split('&')[0]!
        .split('=')[1]!
    )
  t.equal(
    restrictParameter('date', 'ge2024,le2023-02,le2024-02,le1900-02,ge2024-06'),
    'ge2024-01-01,le2023-02-28,le2024-02-29,le1900-02-28,ge2024-06-01'
  )
  t.equal(restrictParameter('_lastUpdated', 'le2024'), 'le2024-12-31')
  t.equal(restrictParameter('code-value-date', 'le2024$le2024'), 'le2024$le2024-12-31')
  const same = [
    ['date', '2024'],
    ['date', 'gt2024'],
    ['date', 'le2024-13'],
    ['date', 'ge2024-01-01T10:00:00Z'],
    ['code', 'ge2024'],
    ['value-quantity', 'ge2024'],
    ['code-value-quantity', 'a$ge2024'],
    ['date:missing', 'true']
  ] as const
  for (const [name, value] of same) t.equal(restrictParameter(name, value), value)
})

/** A value of each kind that says nothing, and one that does. */
const kinds: ReadonlyArray<readonly [type: string, name: string, empty: readonly string[], full: readonly string[]]> =
  [
    [
      'Flag',
      'identifier',
      ['|', ' | ', '||', 'a,|', '|,a', 'a,', ',a', 'a,,b', '\t|'],
      ['|a', 'http://x|', 'http://x|a', 'a', '\\|']
    ],
    ['Patient', '_id', ['|', '1,'], ['1', '1,2']],
    ['Patient', 'identifier:of-type', ['|', '||'], ['http://x|MR|1']],
    ['Patient', 'identifier:not', ['|'], ['|a']],
    ['Patient', '_security', ['|'], ['http://x|R']],
    ['Patient', '_source', ['#'], ['http://x#1']],
    ['Patient', 'birthdate', ['ge', 'ge|', 'eq,2020'], ['ge2020', '2020']],
    ['Observation', 'value-quantity', ['|', 'ge||kg', '|http://unitsofmeasure.org|kg'], ['5', 'gt5||kg']],
    ['Observation', 'code-value-quantity', ['$', '|$5', 'http://loinc.org|1-8$', '$5'], ['http://loinc.org|1-8$5']],
    ['Observation', 'subject', ['/', '#', '|'], ['Patient/1']],
    ['Patient', 'name', [' ', 'a, '], ['|', 'a']]
  ]

t.test(
  'an empty criterion is refused before any request to the datastore, since HAPI ignores it and finds every record',
  async t => {
    for (const [type, name, empty, full] of kinds) {
      const search = (value: string) => () => restrict({ type, parameters: [[name, value]], count: 1 }, tenant)
      for (const value of empty) t.throws(search(value), { code: 'BAD_REQUEST' }, `${name}=${value}`)
      for (const value of full) t.doesNotThrow(search(value), `${name}=${value}`)
    }
  }
)

t.test('no token, date, number, quantity, reference or composite made of separators alone is passed on', async () => {
  const separators = fc
    .array(fc.constantFrom('|', ',', ' ', '\t', '/', '#'), { minLength: 1, maxLength: 6 })
    .map(parts => parts.join(''))
  const names = fc.constantFrom(
    ['Flag', 'identifier'],
    ['Patient', 'birthdate'],
    ['Observation', 'value-quantity'],
    ['Observation', 'subject'],
    ['Observation', 'code-value-quantity']
  )
  fc.assert(fc.property(names, separators, ([type, name], value) => {
    try {
      restrict({ type: type!, parameters: [[name!, value]], count: 1 }, tenant)
    } catch (error) {
      return (error as Failure).code === 'BAD_REQUEST'
    }
    return false
  }), { numRuns: 300 })
})
