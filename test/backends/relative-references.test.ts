import fc from 'fast-check'
import t from 'tap'
import { RelativeReferences } from '../../src/backends/relative-references.js'

const base = 'https://fhir.example.org:8443/r4+x'
const references = new RelativeReferences(base)
const relativize = (text: string) => references.relativize(text)

t.test('a reference below the base URL is relative, however its JSON is printed', async t => {
  for (const [received, expected] of [
    [`{"reference":"${base}/Patient/1"}`, '{"reference":"Patient/1"}'],
    [`{"reference" :\n "${base}/Patient/1/_history/2"}`, '{"reference" :\n "Patient/1/_history/2"}'],
    [`{"reference":"${base.replaceAll('/', '\\/')}\\/Patient\\/1"}`, '{"reference":"Patient\\/1"}'],
    [`{"reference":"${base}/Patient?identifier=1"}`, '{"reference":"Patient?identifier=1"}']
  ] as const) {
    t.equal(relativize(received), expected)
  }
})

t.test('text that is no reference to a record of this server stays the same to the byte', async t => {
  for (const text of [
    '{"reference":"Patient/1"}',
    '{"reference":"#p1"}',
    `{"reference":"${base}-other/Patient/1"}`,
    `{"reference":"http${base.slice(5)}/Patient/1"}`,
    '{"reference":"https://fhirXexample.org:8443/r4+x/Patient/1"}',
    `{"system":"${base}/NamingSystem/1","fullUrl":"${base}/Patient/1"}`,
    `{"profile":["${base}/StructureDefinition/p"]}`
  ]) {
    t.equal(relativize(text), text)
  }
})

t.test('no text within a resource is taken for a reference', async () => {
  const token = fc.constantFrom('"reference":"', base, '/', 'Patient/1', '"', '\\', ' ', ':', '{')
  fc.assert(fc.property(fc.array(token, { maxLength: 12 }), tokens => {
    const text = JSON.stringify({ div: tokens.join('') })
    return relativize(text) === text
  }))
})

t.test('among the URLs of a Bundle, only the references are relative', async () => {
  const member = fc.tuple(fc.constantFrom('reference', 'fullUrl', 'url', 'system', 'x-url'), fc.constantFrom('', ' ', '\n'))
  fc.assert(fc.property(fc.array(member, { maxLength: 8 }), members => {
    const print = (referred: string) => members
      .map(([name, space]) => `"${name}"${space}:${space}"${name === 'reference' ? referred : `${base}/`}Patient/1"`)
      .join(',')
    return relativize(print(`${base}/`)) === print('')
  }))
})

t.test('bytes whose references are reported as relative have no absolute one, however they are printed', async t => {
  const token = fc.constantFrom(
    `"reference":"${base}/Patient/1"`, `"reference" : "${base}/Patient/1"`, '"reference":"Patient/1"', ',', ' ', 'x'.repeat(20),
    `"reference":"${base.replaceAll('/', '\\/')}\\/Patient\\/1"`, `"fullUrl":"${base}/Patient/1"`, `"div":"\\"reference\\":\\"${base}/"`
  )
  let relative = 0
  fc.assert(fc.property(fc.array(token, { maxLength: 8 }), tokens => {
    const text = `{${tokens.join('')}}`
    if (!references.hasOnlyRelativeReferences(Buffer.from(text))) return true
    relative++
    return relativize(text) === text
  }))
  t.ok(relative > 10, `${relative} were`)
  t.ok(references.hasOnlyRelativeReferences(Buffer.from(`{"fullUrl":"${base}/Patient/1","reference":"Patient/1"}`)))
  t.notOk(references.hasOnlyRelativeReferences(Buffer.from(`{"x":1,"reference":"${base}/Patient/1"}`)))
})
