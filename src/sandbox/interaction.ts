import { isValidId } from '../fhir/names.js'
import type { FhirResource } from '../mappings/fhir.js'
import { isElementArray, isElement } from '../mappings/core/path.js'
import { validateStructure } from '../mappings/r4/structure.js'
import { invalid, FhirError } from './outcome.js'
import type { QueryParameter } from './paging.js'
import { filterSupportedParameters, findMatches, type Searched } from './search.js'
import { resourceTypes } from './search-parameters.js'
import type { Version } from './store.js'

/** A request, of HTTP or of an entry in a Bundle. */
export interface SandboxRequest {
  readonly method: string
  /** The path below the base URL, split at the slashes and decoded. */
  readonly path: readonly string[]
  readonly query: readonly QueryParameter[]
  readonly ifMatch?: string | undefined
  readonly ifNoneExist?: string | undefined
  /** Whether an unknown parameter must be rejected. */
  readonly isStrict?: boolean
  readonly body?: unknown
}

/** Splits what follows the base URL into path and query. */
export function readUrl (url: string): Pick<SandboxRequest, 'path' | 'query'> {
  const [path = '', ...query] = url.split('?')
  try {
    return {
      path: path
        .replace(/^\/|\/$/g, '')
        .split('/')
        .map(decodeURIComponent)
        .filter((segment, i) => i > 0 || segment !== ''),
      query: [...new URLSearchParams(query.join('?'))]
    }
  } catch {
    throw invalid('the URL is not encoded as it should be')
  }
}

/** The interaction of a request, once conditional ones have found what they mean. */
export type Interaction =
  | { readonly kind: 'metadata' | 'none' }
  | { readonly kind: 'search'; readonly type: string; readonly query: readonly QueryParameter[] }
  | { readonly kind: 'read'; readonly type: string; readonly id: string; readonly query: readonly QueryParameter[] }
  | { readonly kind: 'vread'; readonly type: string; readonly id: string; readonly version: number }
  | { readonly kind: 'history'; readonly type: string; readonly id: string; readonly query: readonly QueryParameter[] }
  | { readonly kind: 'create'; readonly type: string; readonly id: string; readonly resource: FhirResource }
  | { readonly kind: 'exists'; readonly type: string; readonly id: string; readonly version: Version }
  | {
    readonly kind: 'update'
    readonly type: string
    readonly id: string
    readonly resource: FhirResource
    readonly ifMatch: string | undefined
  }
  | { readonly kind: 'delete'; readonly type: string; readonly id: string; readonly ifMatch: string | undefined }

/** The parts of a sandbox. */
export interface Sandbox extends Searched {
  now (): Date
  newId (): string
}

/**
 * Reads a request; a create has its id already, so that a Bundle's other entries can refer to it.
 * @throws {FhirError}
 */
export function parseInteraction (sandbox: Sandbox, request: SandboxRequest): Interaction {
  const shape = toRouteShape(request.path)
  const readers = routes.get(shape)
  if (request.path.some(segment => segment.startsWith('$'))) {
    throw new FhirError(400, 'not-supported', 'the sandbox has no operations')
  }
  if (!readers) throw new FhirError(404, 'not-found', 'there is nothing at this path')
  const reader = readers.get(request.method)
  if (!reader) throw new FhirError(405, 'not-supported', 'this method is not offered here')
  const [type = '', id = ''] = request.path
  if (sandbox.behaviour.readOnlyTypes.includes(type) && request.method !== 'GET' && shape !== 'type/_search') {
    throw new FhirError(405, 'not-supported', 'records of this type are read only')
  }
  if (shape.startsWith('type') && !resourceTypes.has(type)) {
    throw new FhirError(404, 'not-supported', 'this is not a resource type of R4')
  }
  if (shape.startsWith('type/id') && !isValidId(id)) throw invalid('an id has 1 to 64 characters of A-Z a-z 0-9 - .')
  return reader({ type, id, request, sandbox })
}

/** `Patient/1/_history/2` → `type/id/_history/version` */
function toRouteShape ([first, ...rest]: readonly string[]): string {
  const names = rest.map((segment, i) => segment.startsWith('_') ? segment : ['id', '', 'version'][i])
  return [first === 'metadata' ? first : 'type', ...names].join('/')
}

interface ParsedRoute {
  readonly type: string
  readonly id: string
  readonly request: SandboxRequest
  readonly sandbox: Sandbox
}

type Reader = (reading: ParsedRoute) => Interaction

const read: Reader = ({ type, id, request: { query } }) => ({ kind: 'read', type, id, query })
const search: Reader = ({ type, request: { query, isStrict }, sandbox }) => {
  const { unknownParameters } = sandbox.behaviour
  const isComplete = unknownParameters === 'rejected' || (isStrict === true && unknownParameters === 'ignored')
  return { kind: 'search', type, query: isComplete ? query : filterSupportedParameters(sandbox, type, query) }
}
const history: Reader = ({ type, id, request: { query } }) => ({ kind: 'history', type, id, query })
const vread: Reader = ({ type, id, request: { path } }) => ({ kind: 'vread', type, id, version: Number(path[3]) })
const remove: Reader = ({ type, id, request: { ifMatch } }) => ({ kind: 'delete', type, id, ifMatch })

const create: Reader = reading => {
  const { type, request, sandbox } = reading
  const resource = readResource(type, request.body)
  if (request.ifNoneExist === undefined) return { kind: 'create', type, id: sandbox.newId(), resource }
  const found = findOneMatch(reading, [...new URLSearchParams(request.ifNoneExist.replace(/^[A-Za-z]*\?/, ''))])
  return found
    ? { kind: 'exists', type, id: found.id, version: found }
    : { kind: 'create', type, id: sandbox.newId(), resource }
}

const update: Reader = ({ type, id, request: { body, ifMatch } }) => {
  const resource = readResource(type, body)
  if (resource.id !== id) throw invalid('the id of the resource must be that of the URL')
  return { kind: 'update', type, id, resource, ifMatch }
}

const conditionalUpdate: Reader = reading => {
  const { type, request, sandbox } = reading
  const resource = readResource(type, request.body)
  const found = findOneMatch(reading, request.query)
  if (!found) return { kind: 'create', type, id: sandbox.newId(), resource }
  return { kind: 'update', type, id: found.id, resource, ifMatch: request.ifMatch }
}

const conditionalDelete: Reader = reading => {
  const found = findOneMatch(reading, reading.request.query)
  return found
    ? { kind: 'delete', type: reading.type, id: found.id, ifMatch: reading.request.ifMatch }
    : { kind: 'none' }
}

const routes: ReadonlyMap<string, ReadonlyMap<string, Reader>> = new Map([
  ['metadata', new Map([['GET', () => ({ kind: 'metadata' })]])],
  ['type', new Map([['GET', search], ['POST', create], ['PUT', conditionalUpdate], ['DELETE', conditionalDelete]])],
  ['type/_search', new Map([['POST', search]])],
  ['type/id', new Map([['GET', read], ['PUT', update], ['DELETE', remove]])],
  ['type/id/_history', new Map([['GET', history]])],
  ['type/id/_history/version', new Map([['GET', vread]])]
])

function findOneMatch ({ type, sandbox }: ParsedRoute, criteria: readonly QueryParameter[]): Version | undefined {
  const [found, another] = findMatches(sandbox, type, criteria)
  if (another) throw new FhirError(412, 'multiple-matches', 'several resources match the condition')
  return found
}

/** Servers validate what R4 requires beyond the form of a resource; the gateway before them does not. */
const refusedByServers: ReadonlySet<string> = new Set(['structure', 'code-invalid'])

/** A body as a resource of the type that the URL names. */
function readResource (type: string, body: unknown): FhirResource {
  const { resourceType, meta = {} } = Object(body) as FhirResource
  if (resourceType !== type) throw invalid('the body must be a resource of the type in the URL')
  const isWellFormed = isElement(meta) && [meta.tag ?? [], meta['security'] ?? []].every(isElementArray)
  if (!isWellFormed) throw new FhirError(400, 'structure', 'meta is not as R4 has it')
  const fault = validateStructure(body as FhirResource).find(({ code }) => refusedByServers.has(code))
  if (fault !== undefined) throw new FhirError(400, fault.code, fault.diagnostics)
  return body as FhirResource
}
