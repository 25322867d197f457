import type {} from '@fastify/accepts'
import type { FastifyRequest } from 'fastify'
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
 * The media type that a name stands for, without its parameters.
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
const toForms = (type: string): readonly string[] =>
  [type, ...(otherNames[type] ?? [])].flatMap(name =>
    fhirVersions.map(version => `${name}; charset=utf-8; fhirVersion=${version}`)
  )

/** Made once for each list of types: every response looks up the types of its route. */
const known = new WeakMap<readonly string[], ReadonlyMap<string, string>>()

function formsOfTypes (types: readonly string[]): ReadonlyMap<string, string> {
  const forms = known.get(types) ?? new Map(types.flatMap(type => toForms(type).map(form => [form, type] as const)))
  known.set(types, forms)
  return forms
}

/**
 * The media type of the route that the client prefers.
 * @throws {Failure} NOT_ACCEPTABLE
 */
export function preferredType (request: FastifyRequest): string {
  const types: readonly string[] = request.routeOptions.config.mediaTypes ?? mediaTypes
  const preferred = acceptableType(request, types)
  if (preferred === undefined) throw new Failure('NOT_ACCEPTABLE', { message: `Accept ${types.join(' or ')}.` })
  return preferred
}

/** The same, or undefined if the client accepts none of them. */
export function acceptableType<T extends string = (typeof mediaTypes)[number]> (
  request: FastifyRequest,
  types: readonly T[] = mediaTypes as readonly string[] as readonly T[]
): T | undefined {
  if (request.headers.accept === undefined) return types[0]
  const forms = formsOfTypes(types)
  return forms.get(String(request.accepts().type([...forms.keys()]))) as T | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media types of a route's responses; the first is the default. If absent, {@link mediaTypes}. */
    readonly mediaTypes?: readonly string[]
  }
}
