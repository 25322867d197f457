import t from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { openApiDocument } from '../../src/api/openapi/document.js'
import { startGateway } from '../harness/gateway.js'
import { schemaChecker } from '../openapi/schema-checker.js'

// The document named one media type of a record, and as a JSON Patch arrays alone, where clients in the field send
// objects.
const document = openApiDocument(mappings, { version: '1.0.0', url: '/' }) as any
const check = schemaChecker(document)
const plain = ['application/json', 'application/fhir+json']
const ofChanges = [...plain, 'application/merge-patch+json', 'application/json-patch+json']

/** The media types that the document has for a request's body. */
const typesOf = (path: string, method: string): string[] =>
  Object.keys(document.paths[path][method].requestBody.content)

/** Those of them in which it allows this body. */
function allowing (path: string, method: string, body: unknown): string[] {
  const pointer = (type: string): string =>
    ['', 'paths', path, method, 'requestBody', 'content', type, 'schema']
      .map(step => encodeURIComponent(step.replaceAll('/', '~1')))
      .join('/')
  return typesOf(path, method).filter(type => check(pointer(type), body).length === 0)
}

t.test('the document names every media type of a record, of a change and of what asks for a job', async t => {
  for (const { path, appendOnly } of mappings) {
    t.strictSame(typesOf(`/v1/${path}`, 'post'), plain, path)
    if (!appendOnly) {
      for (const body of [{}, []]) {
        t.strictSame(allowing(`/v1/${path}/{id}`, 'patch', body), ofChanges, `${path} ${JSON.stringify(body)}`)
      }
    }
  }
  t.strictSame(allowing('/v1/bulk/export', 'post', {}), plain)
  t.strictSame(allowing('/v1/bulk/import', 'post', { data: '{}' }), plain)
})

t.test('each media type of the document is taken, a change in every one as an object and as an array', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const sent = async (method: string, path: string, type: string, body: unknown): Promise<any> => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': secret, 'content-type': type },
      body: JSON.stringify(body)
    })
    return await response.json()
  }
  for (const type of typesOf('/v1/patients', 'post')) {
    t.match(
      await sent('POST', '/v1/patients', type, { firstName: 'Ada', lastName: 'Byron' }),
      { meta: { status: 201 } },
      type
    )
  }
  const {
    data: { id }
  } = await sent('POST', '/v1/patients', 'application/json', { firstName: 'Ada', lastName: 'Byron' })
  for (const type of typesOf('/v1/patients/{id}', 'patch')) {
    t.match(
      await sent('PATCH', `/v1/patients/${id}`, type, { lastName: `Merge ${type}` }),
      { data: { lastName: `Merge ${type}` } },
      type
    )
    t.match(
      await sent('PATCH', `/v1/patients/${id}`, type, [{ op: 'replace', path: '/lastName', value: `Patch ${type}` }]),
      { data: { lastName: `Patch ${type}` } },
      type
    )
  }
  for (const type of typesOf('/v1/bulk/export', 'post')) {
    t.match(await sent('POST', '/v1/bulk/export', type, {}), { meta: { status: 202 } }, type)
  }
  for (const type of allowing('/v1/bulk/import', 'post', { data: '{}' })) {
    t.match(
      await sent('POST', '/v1/bulk/import', type, {
        resourceType: 'patients',
        data: '{ "firstName": "Ada", "lastName": "Byron" }'
      }),
      { meta: { status: 202 } },
      type
    )
  }
})
