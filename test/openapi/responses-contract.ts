/** Every example of the document is sent to a running gateway, and every response must match the document. */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { noParameter, singleValueKinds } from '../../src/mappings/core/filter.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import type { Schema } from '../../src/mappings/core/schema.js'
import { listReferenceParameters } from '../../src/mappings/r4/search-parameters.js'
import { listReferrers } from '../../src/mappings/relations.js'
import { mappings } from '../../src/mappings/registry.js'
import {
  buildExampleChange, buildExampleFilterValue, buildExample, buildExamplePatch, buildExampleSearch
} from '../../src/api/openapi/example.js'
import { startGateway, type GatewaySettings } from '../harness/gateway.js'
import { createSchemaChecker } from './schema-checker.js'

type Simple = Readonly<Record<string, unknown>>

interface Sent {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** A path of the document. */
  readonly path: string
  readonly id?: string
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

interface DocumentedResponse { readonly status: number, readonly headers: Headers, readonly body: any }

/** Sends requests of the document and checks their responses against it. */
interface DocumentedClient { (sent: Sent): Promise<DocumentedResponse> }

/** A client of a running gateway that checks responses against the gateway's own document. */
export async function createDocumentedClient (url: string, secret: string | undefined): Promise<DocumentedClient> {
  const document = await (await fetch(`${url}/openapi.json`)).json() as any
  const check = createSchemaChecker(document)
  return async ({ method, path, id = '', query = {}, headers, body }) => {
    const search = Object.entries(query)
      .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
      .join('&')
    const response = await fetch(`${url}${path.replace('{id}', id)}${search === '' ? '' : `?${search}`}`, {
      method,
      headers: {
        ...(secret !== undefined && { 'x-api-key': secret }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    })
    const text = await response.text()
    const result = {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text)
    }
    const faults = findFaults(document, check, { method, path }, result)
    if (faults.length > 0) {
      throw new Error(
        `${method} ${path} ${JSON.stringify(query)} answered ${result.status}: ${faults.join('; ')} ${text.slice(0, 500)}`
      )
    }
    return result
  }
}

function findFaults (
  document: any,
  check: ReturnType<typeof createSchemaChecker>,
  { method, path }: Pick<Sent, 'method' | 'path'>,
  { status, headers, body }: DocumentedResponse
): string[] {
  const responses = document.paths[path]?.[method.toLowerCase()]?.responses
  const documented = responses?.[status]
  if (documented === undefined) return ['a status that the document does not have']
  const pointer = documented.$ref?.slice(1) ?? `/paths/${escapePointer(path)}/${method.toLowerCase()}/responses/${status}`
  const { headers: named = {}, content } = resolvePointer(document, pointer)
  const missing = Object.keys(named)
    .filter(name => resolvePointer(document, named[name].$ref.slice(1)).required && headers.get(name) === null)
    .map(name => `no header ${name}`)
  if (content === undefined) {
    return [...missing, ...(body === undefined ? [] : ['a body that the document does not have'])]
  }
  const type = headers.get('content-type')?.split(';')[0] ?? ''
  if (content[type] === undefined) return [`content of type ${type}`]
  return [...missing, ...check(`${pointer}/content/${escapePointer(type)}/schema`, body)]
}

const escapePointer = (name: string): string => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
const resolvePointer = (document: any, pointer: string): any =>
  pointer
    .split('/')
    .slice(1)
    .reduce((value, step) => value[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')], document)

/** Bodies with the ids of records that were created for them, where the example has references. */
class LiveExamples {
  readonly #ids = new Map<string, Promise<string>>()

  constructor (readonly client: DocumentedClient) {}

  /** The example of a resource, ready to be sent. */
  readonly build = async (mapping: Mapping, example: Simple = buildExample(mapping)): Promise<Simple> => {
    const entries = await Promise.all(
      Object.entries(example).map(
        async ([name, value]) => [name, await this.#replaceReferences(value, mapping.fields[name]!.schema)] as const
      )
    )
    return Object.fromEntries(entries)
  }

  async #replaceReferences (value: unknown, schema: Schema): Promise<unknown> {
    const types = schema['x-references']
    if (types !== undefined && typeof value === 'string') return await this.#getReference(types, value.includes('/'))
    if (Array.isArray(value)) {
      return await Promise.all(
        value.map(async item => await this.#replaceReferences(item, schema.items ?? schema.anyOf?.[0]?.items ?? schema))
      )
    }
    if (typeof value !== 'object' || value === null) return value
    const { properties = {} } = [schema, ...schema.anyOf ?? []].find(branch => branch.properties !== undefined) ?? {}
    const entries = await Promise.all(
      Object.entries(value).map(
        async ([name, item]) => [name, await this.#replaceReferences(item, properties[name] ?? {})] as const
      )
    )
    return Object.fromEntries(entries)
  }

  async #getReference (types: readonly string[], isTyped: boolean): Promise<string> {
    const type = types.find(type => mappings.some(mapping => mapping.type === type))!
    const id = await (this.#ids.get(type) ?? this.#create(type))
    return isTyped || type !== types[0] ? `${type}/${id}` : id
  }

  #create (type: string): Promise<string> {
    const mapping = mappings.find(mapping => mapping.type === type)!
    const id = this.build(mapping)
      .then(body => this.client({ method: 'POST', path: `/v1/${mapping.path}`, body }))
      .then(({ body }) => body.data.id as string)
    this.#ids.set(type, id)
    return id
  }
}

/** Runs all examples of all resources against a gateway on a FHIR server of the test's choice. */
export async function testExamples (t: Test, settings: GatewaySettings): Promise<void> {
  const { url, createKey } = await startGateway(t, settings)
  const { secret } = await createKey({ plan: 'enterprise' })
  const client = await createDocumentedClient(url, secret)
  const examples = new LiveExamples(client)
  for (const mapping of mappings) {
    await t.test(`${mapping.path}: the examples of the document can be sent, and get a documented response`, t =>
      testResource(t, mapping, examples)
    )
  }
}

async function testResource (t: Test, mapping: Mapping, examples: LiveExamples): Promise<void> {
  const { client } = examples
  const path = `/v1/${mapping.path}`
  const one = `${path}/{id}`
  const created = await client({ method: 'POST', path, body: await examples.build(mapping) })
  t.equal(created.status, 201)
  const { id } = created.body.data
  const etag = created.headers.get('etag')!
  t.equal((await client({ method: 'GET', path: one, id })).status, 200)
  t.equal((await client({ method: 'GET', path: one, id, headers: { 'if-none-match': etag } })).status, 304)
  t.equal((await client({ method: 'POST', path, body: { colour: 'red' } })).status, 422)
  for (const query of listSearches(mapping)) {
    t.equal((await client({ method: 'GET', path, query })).status, 200, JSON.stringify(query))
  }
  t.equal((await client({ method: 'GET', path, query: { id } })).body.data.total, 1)
  for (const query of listIncludes(mapping)) {
    t.equal((await client({ method: 'GET', path: one, id, query })).status, 200, JSON.stringify(query))
  }
  await testReplay(t, mapping, examples)
  if (mapping.appendOnly) return
  const change = await examples.build(mapping, buildExampleChange(mapping))
  t.equal(
    (
      await client({
        method: 'PATCH',
        path: one,
        id,
        body: change,
        headers: { 'content-type': 'application/merge-patch+json' }
      })
    ).status,
    200
  )
  const operations = await Promise.all(buildExamplePatch(mapping).map(async ({ value, ...operation }) => {
    const name = String(operation.path).slice(1)
    return { ...operation, value: (await examples.build(mapping, { [name]: value }))[name] }
  }))
  t.equal(
    (
      await client({
        method: 'PATCH',
        path: one,
        id,
        body: operations,
        headers: { 'content-type': 'application/json-patch+json' }
      })
    ).status,
    200
  )
  t.equal(
    (await client({ method: 'PATCH', path: one, id, body: change, headers: { 'if-match': 'W/"none"' } })).status,
    412
  )
  t.equal((await client({ method: 'DELETE', path: one, id, headers: { 'if-match': 'W/"none"' } })).status, 412)
  t.equal((await client({ method: 'DELETE', path: one, id })).status, 200)
  t.equal((await client({ method: 'GET', path: one, id })).status, 404)
}

/** Each filter alone, with several values where it takes them, and every order. */
function listSearches (mapping: Mapping): Array<Readonly<Record<string, unknown>>> {
  const names = Object.keys(mapping.filters)
  const filters = names.map(name => ({ [name]: buildExampleFilterValue(mapping, name) }))
  const several = names
    .filter(name => !singleValueKinds.has(mapping.filters[name]!.kind))
    .map(name => ({ [name]: `${buildExampleFilterValue(mapping, name)},${buildExampleFilterValue(mapping, name)}` }))
  const byText = names.filter(name => mapping.filters[name]!.hasText).map(name => ({ [`${name}:text`]: 'words' }))
  const sorting = names.filter(name => mapping.filters[name]!.param !== noParameter)
  const orders = [...sorting, 'date', 'id', 'updatedSince'].map((name, i) => ({ sort: i % 2 === 0 ? name : `-${name}` }))
  return [
    buildExampleSearch(mapping),
    ...filters,
    ...several,
    ...byText,
    ...orders,
    { count: 1, updatedSince: '2026-03-14T09:30:00Z' }
  ]
}

/** All groups that may be included, and the results of FHIR's own parameters. */
function listIncludes (mapping: Mapping): Array<Readonly<Record<string, unknown>>> {
  const referrers = listReferrers(mapping, mappings)
  const back = referrers.flatMap(({ mapping: { type }, parameters }) =>
    parameters.map(parameter => ({ _revinclude: `${type}:${parameter}` }))
  )
  const forth = listReferenceParameters(mapping.type)
    .slice(0, 1)
    .map(parameter => ({ _include: `${mapping.type}:${parameter}` }))
  return [
    ...(referrers.length > 0
      ? [
          {
            include: referrers
              .map(({ mapping: { path } }) => path)
              .slice(0, 5)
              .join(',')
          }
        ]
      : []),
    ...back.slice(0, 1),
    ...forth
  ]
}

async function testReplay (t: Test, mapping: Mapping, { client, build: of }: LiveExamples): Promise<void> {
  const path = `/v1/${mapping.path}`
  const headers = { 'idempotency-key': randomUUID() }
  const body = await of(mapping)
  const first = await client({ method: 'POST', path, headers, body })
  const again = await client({ method: 'POST', path, headers, body })
  t.strictSame(
    [again.status, again.headers.get('idempotent-replayed'), again.body.data.id],
    [201, 'true', first.body.data.id]
  )
  t.equal((await client({ method: 'POST', path, headers, body: { ...body, colour: 'red' } })).status, 422)
}
