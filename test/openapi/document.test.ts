/**
 * The OpenAPI document is valid, complete and true: what it allows in a request is accepted, and responses match it.
 */
import fc from 'fast-check'
import t from 'tap'
import { parseStored, toPlainNumbers, printJson } from '../../src/json/json.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { mappings } from '../../src/mappings/registry.js'
import { buildOpenApiDocument } from '../../src/api/openapi/document.js'
import { describeRoutes } from '../../src/bootstrap/describe-routes.js'
import { getDisplayName } from '../../src/api/openapi/resource-schemas.js'
import { startGateway } from '../harness/gateway.js'
import { lintDocument } from './lint.js'
import { anyChanges, anySimple } from '../laws/arbitrary.js'
import { anyR4Resource } from '../laws/r4-arbitrary.js'
import { createSchemaChecker } from './schema-checker.js'

const described = await describeRoutes()
const document = buildOpenApiDocument(mappings, { version: '1.2.3', url: 'https://api.example.org', described })
const check = createSchemaChecker(document)
const checkClosed = createSchemaChecker(closeSchema(document))
const parameters = {
  numRuns: Number(process.env.LAWS_RUNS ?? 20),
  seed: Number(process.env.LAWS_SEED ?? 7),
  includeErrorInReport: true
}

const componentPointer = (name: string): string => `/components/schemas/${name}`

/** The same without additional members of objects: the document allows more, the gateway has none. */
function closeSchema<T> (schema: T): T {
  if (Array.isArray(schema)) return schema.map(closeSchema) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closeSchema(value)]))
  return (
    members.type === 'object' && members.properties !== undefined
      ? { additionalProperties: false, ...members }
      : members
  ) as T
}

/** Every operation as `GET /v1/patients/{id}`. */
function listOperations (): string[] {
  return Object.entries(document.paths as Record<string, object>)
    .flatMap(([path, operations]) => Object.keys(operations).map(method => `${method.toUpperCase()} ${path}`))
}

/** The routes of a running app from its printed tree; HEAD goes with GET. */
function parseRoutes (tree: string): string[] {
  const parents: string[] = []
  return tree.trimEnd().split('\n').flatMap(line => {
    const [, indent = '', own = '', methods = ''] = /^([│├└─\s]*)(\S+)(?: \(([^)]*)\))?/.exec(line)!
    const depth = indent.length / 4
    const path = (parents[depth - 1] ?? '') + own
    parents[depth] = path
    return methods
      .split(', ')
      .filter(method => method !== '' && method !== 'HEAD')
      .map(method => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  })
}

t.test('the document passes every rule of a linter', async t => {
  t.strictSame(await lintDocument(JSON.stringify(document)), [])
})

t.test('each route of a running gateway is documented, and nothing else is', async t => {
  const { app } = await startGateway(t)
  const routes = parseRoutes(app.printRoutes({ commonPrefix: false })).filter(
    // Without events, /v1/events is a rejection alone.
    route => !/\/docs|\/v1\/fhir|\/v1\/events|\/control|\/dashboard/.test(route)
  )
  t.ok(routes.length > mappings.length * 3)
  t.strictSame(routes.sort(), listOperations().sort())
})

for (const mapping of mappings) {
  t.test(`${mapping.path}: the schemas are those of the gateway`, async t => {
    const noun = getDisplayName(mapping)
    t.doesNotThrow(
      () =>
        fc.assert(
          fc.property(anySimple(mapping), simple => throwFaults(check(componentPointer(`${noun}Create`), toPlainNumbers(simple)))),
          parameters
        ),
      'what is taken may be sent'
    )
    t.doesNotThrow(
      () =>
        fc.assert(
          fc.property(anyR4Resource(mapping.type), resource => throwFaults(checkSimple(mapping, resource))),
          parameters
        ),
      'whatever is stored is shown as documented'
    )
    if (mapping.appendOnly) return
    t.doesNotThrow(
      () =>
        fc.assert(
          fc.property(anyChanges(mapping), changes => throwFaults(check(componentPointer(`${noun}Change`), toPlainNumbers(changes)))),
          parameters
        ),
      'what is taken may change'
    )
  })
}

/**
 * The fields whose value has several types in a response, and the reason. The type of any other field does not depend
 * on stored data.
 */
const severalTypes: ReadonlyArray<readonly [schema: RegExp, types: RegExp, reason: string]> = [
  [/^Remarks$/, /^array string$/, 'contract: a note is a string when there is one Annotation with text only'],
  [/./, /^(?:CodeableConcept|Coding) string$/, 'contract: a Code is a string when it holds only text'],
  [/^Assessment\.findings\[\]\.code$/, /^object string$/, 'as a Code, whose text is a field of its own'],
  [/^Note\.content$/, /^Attachment string$/, 'contract: string (text) or Attachment'],
  [/^Patient\.deceased$/, /^boolean string$/, 'contract: boolean or dateTime, a choice of R4'],
  [/\.(?:doseNumber|seriesDoses)$/, /^integer string$/, 'a choice of R4'],
  [/^(?:Observation\.component\[\]|DeviceRequest\.parameter\[\])\.value$/, /./, 'contract: a choice of R4'],
  [/^Goal\.target\[\]\.detail$/, /./, 'contract: a choice of R4'],
  [/^IntakeItem\.answer\[\]$/, /./, 'contract: a choice of R4']
]

/** Each path below a schema whose value has several types, with those types; a component is visited once. */
function findUnions (schema: any, path: string, seen: Set<string>): Array<readonly [string, string]> {
  const name = schema.$ref?.split('/').pop()
  if (name !== undefined) {
    if (seen.has(name)) return []
    seen.add(name)
    return findUnions((document.components as any).schemas[name], name, seen)
  }
  const { anyOf = [], oneOf = [], allOf = [], type, properties = {}, items } = schema
  const forms: any[] = [...anyOf, ...oneOf]
  const types = [...new Set(forms.flatMap(listTypes))].sort()
  const several = [type].flat().length > 1 ? [[path, [type].flat().sort().join(' ')] as const] : []
  return [
    ...several,
    ...(types.length > 1 ? [[path, types.join(' ')] as const] : []),
    ...[...forms, ...allOf].flatMap(form => findUnions(form, path, seen)),
    ...Object.entries(properties).flatMap(([name, member]) => findUnions(member, `${path}.${name}`, seen)),
    ...(items === undefined ? [] : findUnions(items, `${path}[]`, seen))
  ]
}

/** The types of a schema; an object among the components has its name. */
function listTypes (schema: any): string[] {
  const name = schema.$ref?.split('/').pop()
  if (name === undefined) return schema.anyOf?.flatMap(listTypes) ?? [schema.type].flat()
  const target = (document.components as any).schemas[name]
  return target.type === 'object' ? [name] : listTypes(target)
}

t.test('a field has one type in responses, unless the contract or a choice of R4 gives it several', async t => {
  const seen = new Set<string>()
  const unions = mappings.flatMap(mapping => findUnions({ $ref: componentPointer(getDisplayName(mapping)) }, '', seen))
  t.strictSame(
    unions.filter(([path, types]) => !severalTypes.some(([at, of]) => at.test(path) && of.test(types))),
    []
  )
  const unused = severalTypes.filter(([at, of]) => !unions.some(([path, types]) => at.test(path) && of.test(types)))
  t.strictSame(unused.map(([, , reason]) => reason), [], 'each exception is needed')
  const lists = unions.filter(([, types]) => /\barray\b/.test(types))
  t.strictSame(lists.map(([path]) => path), ['Remarks'], 'a list is a list whatever its length')
})

function checkSimple (mapping: Mapping, resource: Record<string, unknown>): string[] {
  const simple = mapping.present({ meta: {}, ...parseStored(printJson(resource)) as object } as never)
  return checkClosed(componentPointer(getDisplayName(mapping)), JSON.parse(printJson(simple)))
}

function throwFaults (faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join('; '))
}
