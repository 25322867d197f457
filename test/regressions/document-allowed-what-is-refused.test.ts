import t from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { openApiDocument } from '../../src/api/openapi/document.js'
import { schemaChecker } from '../openapi/schema-checker.js'

const check = schemaChecker(openApiDocument(mappings, { version: '1.0.0', url: '/' }))
const allows = (name: string, value: unknown): boolean => check(`/components/schemas/${name}`, value).length === 0

// The document said less of texts, operations and filters than the gateway demands of them.
t.test('the document allows no text that the gateway refuses for its characters', async t => {
  const patient = { firstName: 'Ada', lastName: 'Byron' }
  t.ok(
    allows('PatientCreate', {
      ...patient,
      prefix: 'two words\nand a line',
      identifiers: { system: 'urn:oid:1.2', value: '7' }
    })
  )
  for (const prefix of ['\u0006', 'a\u0000b', 'a\u001f', '\u007f', ' a', 'a ', ' ', '']) {
    t.notOk(allows('PatientCreate', { ...patient, prefix }), JSON.stringify(prefix))
  }
  for (const system of ['a\u0005', 'a b', '"']) {
    t.notOk(allows('PatientCreate', { ...patient, identifiers: { system, value: '7' } }), JSON.stringify(system))
  }
  const practitioner = (system: string) => ({
    firstName: 'Ada',
    lastName: 'Byron',
    identifiers: { system, value: '7' }
  })
  t.ok(allows('PractitionerCreate', practitioner('urn:oid:1.2')))
  t.notOk(allows('PractitionerCreate', practitioner('a"b')), 'also where some systems are excluded')
})

t.test('the document says what each operation of a JSON Patch needs', async t => {
  for (const operation of [
    { op: 'add', path: '/a', value: null },
    { op: 'move', path: '/a', from: '/b' },
    { op: 'remove', path: '/a' }
  ]) { t.ok(allows('PatchOperation', operation), JSON.stringify(operation)) }
  for (const operation of [
    { op: 'add', path: '/a' },
    { op: 'copy', path: '/a' },
    { op: 'test', path: 'a', value: 1 },
    { op: 'drop', path: '/a' },
    { path: '/a' }
  ]) { t.notOk(allows('PatchOperation', operation), JSON.stringify(operation)) }
})

t.test('the document parts the codes of a filter at commas, as the gateway does', async t => {
  for (const codes of [['a'], ['a', 'b'], ['a\\,b']]) t.ok(allows('FilterCodes', codes), codes.join())
  for (const codes of [['a,'], [''], [' ']]) t.notOk(allows('FilterCodes', codes), codes.join())
})
