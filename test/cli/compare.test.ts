import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildOpenApiDocument } from '../../src/api/openapi/document.js'
import { describeRoutes } from '../../src/bootstrap/describe-routes.js'
import { mappings } from '../../src/mappings/registry.js'
import { runCommand } from './command.js'

const directory = t.testdir()

/** Compares a document that is written to a file. */
async function compare (document: unknown, ...options: string[]) {
  const file = join(directory, `${randomUUID()}.json`)
  writeFileSync(file, typeof document === 'string' ? document : JSON.stringify(document))
  return await runCommand({}, 'compare', file, ...options)
}

const toJsonContent = (schema: object) => ({ content: { 'application/json': { schema } } })
const buildDocument = (value: object, more: object = {}) => ({ openapi: '3.1.0', paths: value, ...more })
const parseLines = (out: string) => out.split('\n').filter(line => line !== '').map(line => JSON.parse(line))

t.test("the gateway's own document has no difference, whatever the names of its address and parameters", async t => {
  const described = await describeRoutes({ hasEvents: true })
  const own = buildOpenApiDocument(mappings, { version: '1', url: 'https://api.example.org', described })
  const same = await compare(own)
  t.same([same.code, same.out], [0, ''])
  t.match(same.err, /^\d{3} operations compared\. Missing: 0 operations, 0 fields, 0 filters\./)
  const renamed = JSON.parse(JSON.stringify(own).replaceAll('/{id}"', '/{recordId}"')) as Record<string, object>
  const below = Object.entries(renamed.paths!).map(([path, item]) => [path.replace(/^\/v1/, ''), item])
  const other = { ...renamed, paths: Object.fromEntries(below), servers: [{ url: 'https://other.example/api/v1/' }] }
  t.same((await compare(other)).out, '')
})

t.test('a document that differs in each way is listed by operation, field and filter, with 1 at the end', async t => {
  const { code, out, err } = await compare(
    buildDocument(
      {
        '/patients': {
          parameters: [{ $ref: '#/components/parameters/ward' }],
          get: {
            parameters: [
              { name: 'gender', in: 'query', schema: { type: 'string' } },
              { name: 'X-Trace', in: 'header', schema: { type: 'string' } }
            ],
            responses: {
              200: toJsonContent({
                type: 'object',
                properties: {
                  data: {
                    type: 'object',
                    properties: { data: { type: 'array', items: { $ref: '#/components/schemas/Patient' } } }
                  }
                }
              })
            }
          },
          post: { requestBody: { $ref: '#/components/requestBodies/Patient' }, responses: {} }
        },
        '/patients/{patientId}/merge': { post: { responses: {} } },
        '/patients/{patientId}': { put: { responses: {} }, delete: { responses: {} } }
      },
      {
        servers: [{ url: 'https://other.example/v1' }],
        components: {
          parameters: { ward: { name: 'ward', in: 'query', schema: { type: 'string' } } },
          requestBodies: { Patient: toJsonContent({ $ref: '#/components/schemas/Patient' }) },
          schemas: {
            Patient: {
              allOf: [
                { $ref: '#/components/schemas/Named' },
                {
                  type: 'object',
                  properties: {
                    active: { type: 'string' },
                    address: {
                      anyOf: [{ type: 'null' }, { type: 'object', properties: { planet: { type: 'string' } } }]
                    },
                    partner: { $ref: '#/components/schemas/Patient' }
                  }
                }
              ]
            },
            Named: { properties: { firstName: { type: 'string', nullable: true }, nickname: { type: 'string' } } }
          }
        }
      }
    ),
    '--json'
  )
  t.equal(code, 1)
  const found = parseLines(out)
  t.strictSame(
    found
      .map(({ kind, problem, operation, in: location, name }) =>
        [problem, kind, operation, location, name].filter(Boolean).join(' '))
      .sort(),
    [
      'missing field GET /patients response data.data[].address.planet',
      'missing field GET /patients response data.data[].nickname',
      'missing field GET /patients response data.data[].partner',
      'missing field POST /patients request address.planet',
      'missing field POST /patients request nickname',
      'missing field POST /patients request partner',
      'missing filter GET /patients ward',
      'missing filter POST /patients ward',
      'missing operation POST /patients/{patientId}/merge',
      'missing operation PUT /patients/{patientId}',
      'other type field GET /patients response data.data[].active',
      'other type field POST /patients request active'
    ]
  )
  t.match(found.find(({ name }) => name === 'active'), { theirs: ['string'], ours: ['boolean'] })
  t.equal(
    err,
    '5 operations compared. Missing: 2 operations, 6 fields, 2 filters. Of another type: 2 fields, 0 filters.\n'
  )
})

t.test('the text output names both types in a line', async t => {
  const schema = { type: 'object', properties: { active: { type: 'array', items: {} } } }
  const { out } = await compare(buildDocument({ '/v1/patients': { post: { requestBody: toJsonContent(schema) } } }))
  t.equal(out, 'other type field      POST /v1/patients  request  active  array there, boolean here\n')
})

t.test('cyclic references, external ones and dangling ones end, and are reported', async t => {
  const references = {
    firstName: '#/components/schemas/a',
    lastName: 'https://other.example/x.json#/a',
    middleName: '#/components/schemas/constructor',
    prefix: '#/%'
  }
  const properties = Object.fromEntries(Object.entries(references).map(([name, $ref]) => [name, { $ref }]))
  const { code, out } = await compare(
    buildDocument(
      { '/v1/patients': { post: { requestBody: toJsonContent({ type: 'object', properties }) } } },
      { components: { schemas: { a: { $ref: '#/components/schemas/b' }, b: { $ref: '#/components/schemas/a' } } } }
    ),
    '--json'
  )
  t.equal(code, 1)
  t.strictSame(
    parseLines(out),
    [references.lastName, references.middleName, references.prefix].map(name => ({
      kind: 'reference',
      problem: 'not followed',
      name
    }))
  )
})

t.test('a file that is no OpenAPI document is rejected with the reason, and without its content', async t => {
  for (const [content, reason] of [
    ['openapi: 3.1.0', 'it is not JSON; convert YAML to JSON first'],
    [{ swagger: '2.0', paths: {} }, 'it is not an OpenAPI 3 document'],
    [{ openapi: '3.0.0' }, 'it has no paths'],
    [[], 'it is not an OpenAPI 3 document'],
    [`"${' '.repeat(33 * 1024 * 1024)}"`, 'it has more than 32 MiB']
  ] as const) {
    const { code, out, err } = await compare(content)
    t.same([code, out], [1, ''], reason)
    t.ok(err.endsWith(` cannot be compared: ${reason}.\n`), err.slice(0, 200))
  }
  t.match((await runCommand({}, 'compare', join(directory, 'none.json'))).err, /cannot be compared: it does not exist/)
  t.match((await runCommand({}, 'compare', directory)).err, /cannot be compared: it is not a file/)
})

t.test('control characters in names of the document do not reach the terminal', async t => {
  const { out } = await compare(buildDocument({ '/v1/\u001b[31mred\u202e': { get: {} } }))
  t.equal(out, 'missing operation     GET /v1/\uFFFD[31mred\uFFFD\n')
})
