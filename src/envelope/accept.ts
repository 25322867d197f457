import type {} from '@fastify/accepts'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { Failure } from './failures.js'

/** The media types of responses. The first is the default. */
const mediaTypes = ['application/json', 'application/fhir+json'] as const

/** Names that earlier versions of FHIR, and their clients, use for a media type of JSON. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  'application/json': ['text/json'],
  'application/fhir+json': ['application/json+fhir']
}

/** All of them. */
export const earlierNames: readonly string[] = Object.values(otherNames).flat()

/** The values of `fhirVersion` that mean R4. */
export const fhirVersions: readonly string[] = ['4.0', '4.0.0', '4.0.1']

/**
 * The media type of a name, without its parameters.
 * @param header a media type, such as that of a body; in any case
 */
export function toMediaType (header: string): string {
  const name = header.split(';', 1)[0]!.trim().toLowerCase()
  return Object.keys(otherNames).find(type => otherNames[type]!.includes(name)) ?? name
}

/**
 * A media type in each form that a client may accept: by another name, and with parameters, which apply to every
 * response.
 */
const listForms = (type: string): readonly string[] =>
  [type, ...(otherNames[type] ?? [])].flatMap(name =>
    fhirVersions.map(version => `${name}; charset=utf-8; fhirVersion=${version}`)
  )

/** The types of a route: the forms of each, and the type that an Accept header prefers, or '' for none. */
interface Negotiation {
  readonly forms: ReadonlyMap<string, string>
  /** Clients send the same few headers again and again, and to negotiate takes as long as half of the pipeline. */
  readonly preferred: LRUCache<string, string>
}

/** Made once for each list of types: every response looks up the types of its route. */
const known = new WeakMap<readonly string[], Negotiation>()

/** Longer headers are negotiated each time, so that a client fills no memory with them. */
const maxCachedLength = 256

function getNegotiation (types: readonly string[]): Negotiation {
  const negotiation = known.get(types) ?? {
    forms: new Map(types.flatMap(type => listForms(type).map(form => [form, type] as const))),
    preferred: new LRUCache<string, string>({ max: 200 })
  }
  known.set(types, negotiation)
  return negotiation
}

/**
 * The media type of the route that the client prefers.
 * @throws {Failure} NOT_ACCEPTABLE
 */
export function requireAcceptableType (request: FastifyRequest): string {
  const types: readonly string[] = request.routeOptions.config.mediaTypes ?? mediaTypes
  const preferred = findAcceptableType(request, types)
  if (preferred === undefined) throw new Failure('NOT_ACCEPTABLE', { message: `Accept ${types.join(' or ')}.` })
  return preferred
}

/** The same, or undefined if the client accepts none of them. */
export function findAcceptableType<T extends string = (typeof mediaTypes)[number]> (
  request: FastifyRequest,
  types: readonly T[] = mediaTypes as readonly string[] as readonly T[]
): T | undefined {
  const { accept } = request.headers
  if (accept === undefined) return types[0]
  const { forms, preferred } = getNegotiation(types)
  let type = preferred.get(accept)
  if (type === undefined) {
    type = forms.get(String(request.accepts().type([...forms.keys()]))) ?? ''
    if (accept.length <= maxCachedLength) preferred.set(accept, type)
  }
  return type === '' ? undefined : type as T
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media types of a route's responses; the first is the default. If absent, {@link mediaTypes}. */
    readonly mediaTypes?: readonly string[]
  }
}
