import t from 'tap'
import { buildOpenApiDocument } from '../../src/api/openapi/document.js'
import { describeRoutes } from '../../src/bootstrap/describe-routes.js'
import { mappings } from '../../src/mappings/registry.js'
import { startGateway } from '../harness/gateway.js'
import { createSchemaChecker } from './schema-checker.js'

const described = await describeRoutes()
const wrong = /\b(?:a (?=[AEIO][a-z])|an (?=[B-DF-HJ-NP-Z][a-z]))[A-Za-z]+/

// "the id of a Encounter alone" was in error messages and, for a hundred fields, in the documentation.
t.test('the name of a type has the right article in messages', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const fetchBody = async (method: 'GET' | 'POST', path: string, payload?: object): Promise<string> =>
    (
      await inject({
        method,
        url: `/v1/${path}`,
        headers: { 'x-api-key': secret, 'content-type': 'application/json' },
        ...(payload && { payload })
      })
    ).body
  t.match(
    await fetchBody('POST', 'observations', { patientId: '1', code: 'x', encounterId: 'Patient/1' }),
    'the id of an Encounter alone'
  )
  t.match(await fetchBody('POST', 'observations', { patientId: '/', code: 'x' }), 'the id of a Patient alone')
  t.match(await fetchBody('GET', 'observations?encounterId=Encounter/a/b'), 'the id of an Encounter')
  t.match(await fetchBody('GET', 'encounters/1?_revinclude=Observation'), 'that leads to an Encounter')
})

t.test('and in the documentation', t => {
  const texts = JSON.stringify(buildOpenApiDocument(mappings, { version: '1', url: 'http://localhost', described }))
  t.equal(wrong.exec(texts)?.[0], undefined)
  t.end()
})

const check = createSchemaChecker(buildOpenApiDocument(mappings, { version: '1.0.0', url: '/', described }))
const allows = (name: string, value: unknown): boolean => check(`/components/schemas/${name}`, value).length === 0

// The document was less strict about texts, operations and filters than the gateway.
t.test('the document allows no text that the gateway rejects for its characters', async t => {
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
  const buildPractitioner = (system: string) => ({
    firstName: 'Ada',
    lastName: 'Byron',
    identifiers: { system, value: '7' }
  })
  t.ok(allows('PractitionerCreate', buildPractitioner('urn:oid:1.2')))
  t.notOk(allows('PractitionerCreate', buildPractitioner('a"b')), 'also where some systems are excluded')
})

t.test('the document has the required members of each operation of a JSON Patch', async t => {
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

t.test('the document splits the codes of a filter at commas, as the gateway does', async t => {
  for (const codes of [['a'], ['a', 'b'], ['a\\,b']]) t.ok(allows('FilterCodes', codes), codes.join())
  for (const codes of [['a,'], [''], [' ']]) t.notOk(allows('FilterCodes', codes), codes.join())
})

// The document had one media type of a record, and as a JSON Patch only arrays, while existing clients send objects.
const document = buildOpenApiDocument(mappings, { version: '1.0.0', url: '/', described }) as any
const checkDocument = createSchemaChecker(document)
const plain = ['application/json', 'application/fhir+json']
const ofChanges = [...plain, 'application/merge-patch+json', 'application/json-patch+json']

/** The media types that the document has for a request's body. */
const listMediaTypes = (path: string, method: string): string[] =>
  Object.keys(document.paths[path][method].requestBody.content)

/** Those of them in which it allows this body. */
function listAllowingTypes (path: string, method: string, body: unknown): string[] {
  const toPointer = (type: string): string =>
    ['', 'paths', path, method, 'requestBody', 'content', type, 'schema']
      .map(step => encodeURIComponent(step.replaceAll('/', '~1')))
      .join('/')
  return listMediaTypes(path, method).filter(type => checkDocument(toPointer(type), body).length === 0)
}

t.test('the document names every media type of a record, of a change and of a request that starts a job', async t => {
  for (const { path, appendOnly } of mappings) {
    t.strictSame(listMediaTypes(`/v1/${path}`, 'post'), plain, path)
    if (!appendOnly) {
      for (const body of [{}, []]) {
        t.strictSame(listAllowingTypes(`/v1/${path}/{id}`, 'patch', body), ofChanges, `${path} ${JSON.stringify(body)}`)
      }
    }
  }
  t.strictSame(listAllowingTypes('/v1/bulk/export', 'post', {}), plain)
  t.strictSame(listAllowingTypes('/v1/bulk/import', 'post', { data: '{}' }), plain)
})

t.test('each media type of the document is accepted, a change in every one as an object and as an array', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const send = async (method: string, path: string, type: string, body: unknown): Promise<any> => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': secret, 'content-type': type },
      body: JSON.stringify(body)
    })
    return await response.json()
  }
  for (const type of listMediaTypes('/v1/patients', 'post')) {
    t.match(
      await send('POST', '/v1/patients', type, { firstName: 'Ada', lastName: 'Byron' }),
      { meta: { status: 201 } },
      type
    )
  }
  const {
    data: { id }
  } = await send('POST', '/v1/patients', 'application/json', { firstName: 'Ada', lastName: 'Byron' })
  for (const type of listMediaTypes('/v1/patients/{id}', 'patch')) {
    t.match(
      await send('PATCH', `/v1/patients/${id}`, type, { lastName: `Merge ${type}` }),
      { data: { lastName: `Merge ${type}` } },
      type
    )
    t.match(
      await send('PATCH', `/v1/patients/${id}`, type, [{ op: 'replace', path: '/lastName', value: `Patch ${type}` }]),
      { data: { lastName: `Patch ${type}` } },
      type
    )
  }
  for (const type of listMediaTypes('/v1/bulk/export', 'post')) {
    t.match(await send('POST', '/v1/bulk/export', type, {}), { meta: { status: 202 } }, type)
  }
  for (const type of listAllowingTypes('/v1/bulk/import', 'post', { data: '{}' })) {
    t.match(
      await send('POST', '/v1/bulk/import', type, {
        resourceType: 'patients',
        data: '{ "firstName": "Ada", "lastName": "Byron" }'
      }),
      { meta: { status: 202 } },
      type
    )
  }
})
