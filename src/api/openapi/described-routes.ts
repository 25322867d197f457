import type {} from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import type { JsonSchema } from '../../envelope/openapi-responses.js'

/** The routes that are described where they stand, in terms of OpenAPI 3.1. */
export interface DescribedRoutes {
  readonly paths: Readonly<Record<string, JsonSchema>>
  /** The schemas to which they refer. */
  readonly schemas: Readonly<Record<string, JsonSchema>>
}

/** The routes that `@fastify/swagger` collected in an app, which must be ready. */
export function collectDescribedRoutes (app: Pick<FastifyInstance, 'swagger'>): DescribedRoutes {
  const { paths = {}, components = {} } = app.swagger() as CollectedDocument
  const restored = Object.entries(paths).map(([path, { head: _, ...operations }]) =>
    // HEAD is supported wherever GET is, and the document says so once.
    [path, restoreReferences(operations)] as const)
  return { paths: Object.fromEntries(restored), schemas: restoreReferences(components.schemas ?? {}) }
}

interface CollectedDocument {
  readonly paths?: Readonly<Record<string, JsonSchema>>
  readonly components?: { readonly schemas?: Readonly<Record<string, JsonSchema>> }
}

/**
 * The plugin takes every reference for one to a schema. One to a parameter, header or response replaces what the plugin
 * put around it. It drops the other members of a schema with a reference, so such a reference is the only schema of an
 * `allOf` until here.
 */
function restoreReferences<T> (part: T): T {
  if (Array.isArray(part)) return part.map(restoreReferences) as T
  if (typeof part !== 'object' || part === null) return part
  const { schema, content, allOf, ...others } = part as Part
  const $ref = schema?.$ref ?? content?.['application/json']?.schema?.$ref
  if ($ref !== undefined && !$ref.startsWith('#/components/schemas/')) return { $ref } as T
  if (allOf?.length === 1) return { ...allOf[0], ...others } as T
  return Object.fromEntries(Object.entries(part).map(([name, member]) => [name, restoreReferences(member)])) as T
}

interface Part {
  readonly allOf?: readonly object[]
  readonly schema?: { readonly $ref?: string }
  readonly content?: { readonly 'application/json'?: Part }
}
