import { unsupportedPrecondition } from '../../envelope/preconditions.js'
import { Failure } from '../../envelope/failures.js'
import { toSafeName, invalidParameter } from '../../envelope/query.js'
import { isSubsetted, type FhirResource } from '../../mappings/fhir.js'
import { compartments } from '../../mappings/r4/compartments.js'
import type { FhirInteraction } from '../../tenant-guard/interaction.js'
import { policy } from '../../tenant-guard/policy.js'
import { resourceTypes } from '../../fhir/resource-types.js'
import { terminologyOperations } from '../../tenant-guard/operations/terminology-operations.js'
import { readInstant, requireNoParameters, requireResource, type FhirRequest } from './fhir-request.js'
import { readBundle } from './bundle-request.js'
import { parseExport } from './export-request.js'
import { parseParameters } from './parameters-resource.js'
import { parseCompartmentSearch } from './compartment-request.js'
import { addSingle, parseCriteria, parseProjection, readFhirSearch, requireCursorAlone } from './search-request.js'
import { parseTerminologyRequest } from './terminology-request.js'
import { parseValidateRequest } from './validate-request.js'

/** The record or version that the path of a request names. */
interface PathParameters { readonly type: string, readonly id: string, readonly version: string }

type Reader = (request: FhirRequest, named: PathParameters) => FhirInteraction

/**
 * `:type` matches a name of a resource type, `:id` and `:version` anything that is no operation: the policy decides
 * which ids are valid.
 */
interface Route { readonly path: readonly string[], readonly methods: Readonly<Record<string, Reader>> }

const route = (path: string, methods: Route['methods']): Route => ({
  path: path === '' ? [] : path.split('/'),
  methods
})

const buildGetAndPostRoutes = (path: string, reader: Reader): Route[] => [route(path, { GET: reader, POST: reader })]

/** Every supported request of raw FHIR, the more specific paths first. Any other request is refused. */
const allRoutes: readonly Route[] = [
  route('', { POST: bundle }),
  route(':type', {
    GET: search,
    POST: create,
    PUT: conditionalUpdate,
    PATCH: conditionalPatch,
    DELETE: conditionalDelete
  }),
  route(':type/_search', { POST: search }),
  route(':type/_history', {}),
  route(':type/$validate', { POST: parseValidateRequest }),
  route(':type/:id', { GET: read, PUT: update, PATCH: patch, DELETE: remove }),
  route(':type/:id/_history', { GET: history }),
  route(':type/:id/_history/:version', { GET: vread }),
  ...buildGetAndPostRoutes('Patient/:id/$everything', everything),
  // Outside a Bundle it has a route of its own, since it is not a single interaction.
  route('$import', { POST: rejectImport }),
  ...buildGetAndPostRoutes('$export', request => parseExport('system', request)),
  ...buildGetAndPostRoutes('Patient/$export', request => parseExport('patient', request)),
  ...buildGetAndPostRoutes('Group/:id/$export', (request, { id }) => parseExport('group', request, id)),
  ...Object.keys(terminologyOperations)
    .map(path => route(path, { GET: parseTerminologyRequest, POST: parseTerminologyRequest })),
  ...compartments.flatMap(holder => [
    route(`${holder}/:id/:type`, { GET: parseCompartmentSearch }),
    route(`${holder}/:id/:type/_search`, { POST: parseCompartmentSearch }),
    route(`${holder}/:id/*`, {})
  ])
]

/** By the number of their segments. */
const routes = Map.groupBy(allRoutes, ({ path }) => path.length)

/**
 * The interaction of a request.
 * @throws {Failure} NOT_FOUND, METHOD_NOT_ALLOWED, BAD_REQUEST, before anything is looked up
 */
export function parseInteraction (request: FhirRequest): FhirInteraction {
  const found = routes.get(request.path.length)?.find(({ path }) => matchesPattern(path, request.path))
  if (found === undefined) {
    throw request.path.some(segment => segment.startsWith('$')) ? unsupportedInteraction([]) : new Failure('NOT_FOUND')
  }
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const reader = Object.hasOwn(found.methods, method) ? found.methods[method] : undefined
  if (reader === undefined) throw unsupportedInteraction(listAllowedMethods(found, request))
  const interaction = reader(request, readPathParameters(found.path, request.path))
  if (request.hasOtherPrecondition === true && policy[interaction.kind].scopes.includes('write')) {
    throw unsupportedPrecondition()
  }
  return interaction
}

/** HEAD is allowed like GET, except for an export, which it would begin. */
function listAllowedMethods ({ methods }: Route, { path }: FhirRequest): string[] {
  return Object.keys(methods).flatMap(method =>
    method === 'GET' && path.at(-1) !== '$export' ? ['GET', 'HEAD'] : [method]
  )
}

function unsupportedInteraction (methods: readonly string[]): Failure {
  return new Failure('METHOD_NOT_ALLOWED', {
    message: 'This gateway does not support this interaction. Its CapabilityStatement lists those that it supports.',
    headers: { allow: methods.join(', ') }
  })
}

function matchesPattern (pattern: readonly string[], path: readonly string[]): boolean {
  return pattern.every((part, at) => matchesSegment(part, path[at]!))
}

function matchesSegment (part: string, segment: string): boolean {
  if (part === ':type') return resourceTypes.has(segment)
  return part.startsWith(':') ? /^[A-Za-z0-9\-.]+$/.test(segment) : part === segment
}

function readPathParameters (pattern: readonly string[], path: readonly string[]): PathParameters {
  const getParameter = (name: string): string => path[pattern.indexOf(name)] ?? ''
  return {
    type: pattern.includes(':type') ? getParameter(':type') : (path[0] ?? ''),
    id: getParameter(':id'),
    version: getParameter(':version')
  }
}

function rejectImport (): never {
  throw new Failure('METHOD_NOT_ALLOWED', {
    message: 'An import must be sent as a separate request.',
    headers: { allow: '' }
  })
}

function search (request: FhirRequest, { type }: PathParameters): FhirInteraction {
  return readFhirSearch(type, request)
}

function read ({ query }: FhirRequest, { type, id }: PathParameters): FhirInteraction {
  const shape = parseProjection(readSingleValues(query, ['_elements', '_summary']))
  return { kind: 'read', type, id, ...shape !== undefined && { shape } }
}

function vread (request: FhirRequest, { type, id, version }: PathParameters): FhirInteraction {
  requireNoParameters(request)
  return { kind: 'vread', type, id, version }
}

function history ({ query }: FhirRequest, { type, id }: PathParameters): FhirInteraction {
  const single = readSingleValues(query, ['_count', '_since', '_cursor'])
  const since = readInstant('_since', single.get('_since'))
  return { kind: 'history', type, id, ...parsePaging(single), ...since !== undefined && { since } }
}

/** By POST the parameters may be in a body as well: http://hl7.org/fhir/R4/operations.html#executing */
function everything ({ method, query, body }: FhirRequest, { id }: PathParameters): FhirInteraction {
  const single = readSingleValues(
    method === 'POST' && body !== undefined ? [...query, ...readBodyQuery(body)] : query,
    ['_count', '_cursor', '_since', '_type', 'start', 'end']
  )
  const since = readInstant('_since', single.get('_since'))
  const parameters = [...single]
    .filter(([name]) => name !== '_count' && name !== '_cursor')
    .map(([name, value]) => [name, name === '_since' ? since! : value] as const)
  for (const [name, value] of parameters) {
    if (!/^[A-Za-z0-9,:.+-]{1,1000}$/.test(value)) {
      throw invalidParameter(name, 'expected a value of the type that the operation defines')
    }
    if (name === '_type' && !value.split(',').every(type => resourceTypes.has(type))) {
      throw invalidParameter(name, 'expected comma-separated R4 resource types')
    }
  }
  return { kind: 'everything', type: 'Patient', id, parameters, ...parsePaging(single) }
}

/** Parameters of a body as a query has them, where one that may be repeated has its values between commas. */
function readBodyQuery (body: unknown): FhirRequest['query'] {
  const texts = parseParameters(body).map(({ name, value }) => {
    if (typeof value !== 'string') throw invalidParameter(toSafeName(name), 'expected a value of a simple type')
    return [name, value] as const
  })
  const types = texts.filter(([name]) => name === '_type').map(([, value]) => value)
  return [
    ...texts.filter(([name]) => name !== '_type'),
    ...(types.length > 0 ? [['_type', types.join(',')] as const] : [])
  ]
}

/** Medplum's `createBinary` names the file, for which R4 has no place in a Binary. */
const ignoredBinaryParameters = ['_filename']

function create (request: FhirRequest, { type }: PathParameters): FhirInteraction {
  requireNoParameters(request, type === 'Binary' ? ignoredBinaryParameters : [])
  const resource = requireCompleteResource(request, type)
  if (request.ifNoneExist === undefined) return { kind: 'create', type, resource }
  return {
    kind: 'conditional-create',
    type,
    resource,
    criteria: parseCriteria(type, request.ifNoneExist, request.fhirBase)
  }
}

/**
 * The resource to be stored. A datastore would accept it even if elements are missing from it.
 * @throws {Failure} BAD_REQUEST, VALIDATION_ERROR for one that was read by `_elements` or `_summary`
 */
function requireCompleteResource (request: FhirRequest, type: string): FhirResource {
  const resource = requireResource(request, type)
  if (isSubsetted(resource)) {
    throw new Failure('VALIDATION_ERROR', {
      message:
        'The tag SUBSETTED marks an incomplete record, so the rest would be lost. Read the whole record and change that, or send a patch. If the record is complete, remove the tag.'
    })
  }
  return resource
}

function update (request: FhirRequest, { type, id }: PathParameters): FhirInteraction {
  requireNoParameters(request)
  const resource = requireCompleteResource(request, type)
  if (resource.id !== undefined && resource.id !== id) {
    throw new Failure('BAD_REQUEST', { message: 'id: expected the id in the URL, or no id.' })
  }
  return { kind: 'update', type, id, resource, ...toExpectedVersion(request) }
}

function remove (request: FhirRequest, { type, id }: PathParameters): FhirInteraction {
  requireNoParameters(request)
  return { kind: 'delete', type, id, ...toExpectedVersion(request) }
}

function patch (request: FhirRequest, { type, id }: PathParameters): FhirInteraction {
  requireNoParameters(request)
  return { kind: 'patch', type, id, patch: requirePatch(request), ...toExpectedVersion(request) }
}

function conditionalUpdate (request: FhirRequest, { type }: PathParameters): FhirInteraction {
  return {
    kind: 'conditional-update',
    type,
    resource: requireCompleteResource(request, type),
    criteria: parseCriteria(type, request.query, request.fhirBase),
    ...toExpectedVersion(request)
  }
}

function conditionalPatch (request: FhirRequest, { type }: PathParameters): FhirInteraction {
  return {
    kind: 'conditional-patch',
    type,
    patch: requirePatch(request),
    criteria: parseCriteria(type, request.query, request.fhirBase),
    ...toExpectedVersion(request)
  }
}

function conditionalDelete (request: FhirRequest, { type }: PathParameters): FhirInteraction {
  return {
    kind: 'conditional-delete',
    type,
    criteria: parseCriteria(type, request.query, request.fhirBase),
    ...toExpectedVersion(request)
  }
}

function requirePatch ({ body }: FhirRequest): readonly unknown[] {
  if (!Array.isArray(body)) {
    throw new Failure('BAD_REQUEST', {
      message: 'Send a JSON Patch (RFC 6902): an array of operations, as application/json-patch+json.'
    })
  }
  return body
}

/** The parser of a single request also reads each entry of a Bundle of requests. */
function bundle (request: FhirRequest): FhirInteraction {
  requireNoParameters(request)
  return readBundle(request, parseInteraction)
}

/** `*` requires nothing of an update or delete of a record, which must exist in any case. */
function toExpectedVersion ({ ifMatch }: FhirRequest): { readonly version?: string } {
  return ifMatch === undefined || ifMatch === '*' ? {} : { version: ifMatch }
}

/** The parameters of a request that takes only these, each once. */
function readSingleValues (query: FhirRequest['query'], known: readonly string[]): ReadonlyMap<string, string> {
  const single = new Map<string, string>()
  for (const [name, value] of query) {
    if (!known.includes(name)) throw invalidParameter('query', `this request supports only ${known.join(', ')}`)
    addSingle(single, name, value)
  }
  if (single.has('_cursor')) requireCursorAlone([...single.keys()])
  return single
}

function parsePaging (query: ReadonlyMap<string, string>): { readonly count?: number, readonly cursor?: string } {
  const count = query.get('_count')
  const cursor = query.get('_cursor')
  if (count !== undefined && !/^[1-9]\d{0,8}$/.test(count)) {
    throw invalidParameter('_count', 'expected a whole number from 1')
  }
  return { ...count !== undefined && { count: Math.min(Number(count), 1_000) }, ...cursor !== undefined && { cursor } }
}
