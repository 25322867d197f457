/**
 * The OpenAPI document is valid, complete and true: what it says can be sent is taken, and what is shown is as it says.
 */
import fc from 'fast-check'
import t from 'tap'
import { parseStored, plainNumbers, printJson } from '../../src/json/json.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { mappings } from '../../src/mappings/registry.js'
import { openApiDocument } from '../../src/api/openapi/document.js'
import { displayName } from '../../src/api/openapi/resource-schemas.js'
import { startGateway } from '../harness/gateway.js'
import { lintDocument } from './lint.js'
import { changesOf, simpleOf } from '../laws/arbitrary.js'
import { r4Resource } from '../laws/r4-arbitrary.js'
import { schemaChecker } from './schema-checker.js'

const document = openApiDocument(mappings, { version: '1.2.3', url: 'https://api.example.org' })
const check = schemaChecker(document)
const checkClosed = schemaChecker(closed(document))
const parameters = {
  numRuns: Number(process.env.LAWS_RUNS ?? 20),
  seed: Number(process.env.LAWS_SEED ?? 7),
  includeErrorInReport: true
}

const component = (name: string): string => `/components/schemas/${name}`

/**
 * The same with no members of objects but those that it names: the document leaves room for more, the gateway has none.
 */
function closed<T> (schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return (
    members.type === 'object' && members.properties !== undefined
      ? { additionalProperties: false, ...members }
      : members
  ) as T
}

/** Every operation as `GET /v1/patients/{id}`. */
function documented (): string[] {
  return Object.entries(document.paths as Record<string, object>)
    .flatMap(([path, operations]) => Object.keys(operations).map(method => `${method.toUpperCase()} ${path}`))
}

/** The routes of a running app from its printed tree; HEAD goes with GET. */
function routesOf (tree: string): string[] {
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
  const routes = routesOf(app.printRoutes({ commonPrefix: false })).filter(
    route => !/\/docs|\/v1\/fhir|\/control|\/dashboard/.test(route)
  )
  t.ok(routes.length > mappings.length * 3)
  t.strictSame(routes.sort(), documented().sort())
})

for (const mapping of mappings) {
  t.test(`${mapping.path}: the schemas are those of the gateway`, async t => {
    const noun = displayName(mapping)
    t.doesNotThrow(
      () =>
        fc.assert(
          fc.property(simpleOf(mapping), simple => refuse(check(component(`${noun}Create`), plainNumbers(simple)))),
          parameters
        ),
      'what is taken may be sent'
    )
    t.doesNotThrow(
      () =>
        fc.assert(
          fc.property(r4Resource(mapping.type), resource => refuse(shownFaults(mapping, resource))),
          parameters
        ),
      'whatever is stored is shown as documented'
    )
    if (mapping.appendOnly) return
    t.doesNotThrow(
      () =>
        fc.assert(
          fc.property(changesOf(mapping), changes => refuse(check(component(`${noun}Change`), plainNumbers(changes)))),
          parameters
        ),
      'what is taken may change'
    )
  })
}

function shownFaults (mapping: Mapping, resource: Record<string, unknown>): string[] {
  const shown = mapping.present({ meta: {}, ...parseStored(printJson(resource)) as object } as never)
  return checkClosed(component(displayName(mapping)), JSON.parse(printJson(shown)))
}

function refuse (faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join('; '))
}
