import type { Static, TSchema } from 'typebox'
import type { DeepReadonly } from '../../config/schema.js'
import type { ControlService } from '../store/control-service.js'

/** The ids in a path by their names: `{ tenantId: string }` of `/organizations/:tenantId/keys`. */
type IdsOf<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : Path extends `${string}:${infer Rest}`
    ? Rest extends `${infer Name}/${infer Next}` ? Readonly<Record<Name, string>> & IdsOf<`/${Next}`> : Readonly<Record<Rest, string>>
    : Readonly<Record<never, string>>

/** The input of a request, checked against the operation's schemas. */
interface Input<Ids, Query, Body> {
  /** The ids in the path. */
  readonly ids: Ids
  readonly query: Query
  readonly body: Body
}

/**
 * One operation of the management API: its path, its texts for the OpenAPI document, its schemas and its handler, which
 * calls a control service.
 */
export interface Operation<Ids = any, Query = any, Body = any, Data = unknown> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/control/v1`, with `:name` for ids. */
  readonly path: string
  readonly summary: string
  readonly query?: TSchema
  readonly body?: TSchema
  /** The schema of `data` in the envelope. */
  readonly responseSchema: TSchema
  readonly run: (controlService: ControlService, input: Input<Ids, Query, Body>) => Promise<Data>
}

interface Declared<Path extends string, Query extends TSchema, Body extends TSchema, ResponseSchema extends TSchema>
  extends Operation<IdsOf<Path>, Static<Query>, Static<Body>, DeepReadonly<Static<ResponseSchema>>> {
  readonly path: Path
  readonly query?: Query
  readonly body?: Body
  readonly responseSchema: ResponseSchema
}

/** Declares an operation; a handler that does not match its path and its schemas does not compile. */
export function defineOperation<
  Path extends string,
  Query extends TSchema,
  Body extends TSchema,
  ResponseSchema extends TSchema
> (
  declared: Declared<Path, Query, Body, ResponseSchema>
): Operation<IdsOf<Path>, Static<Query>, Static<Body>, DeepReadonly<Static<ResponseSchema>>> {
  return declared
}

/** An operation with its name, as in the document: `createKey`. */
export type NamedOperation = Operation & { readonly id: string }

/** Operations by their names. Each preserves the types of its ids, its body and its data for its callers. */
export type OperationTable = Readonly<Record<string, Operation>>

/** 201 for an operation that creates an entity, 200 for all others. */
export function getSuccessStatus ({ method, id }: Pick<NamedOperation, 'method' | 'id'>): 200 | 201 {
  return method === 'POST' && /^(create|invite|roll)/.test(id) ? 201 : 200
}
