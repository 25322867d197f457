import type { Static, TSchema } from 'typebox'
import type { DeepReadonly } from '../../config/schema.js'
import type { ControlService } from '../store/desk.js'

/** The input of a request, checked against the operation's schemas. */
interface Input<Query, Body> {
  /** The ids in the path. */
  readonly ids: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
}

/**
 * One operation of the management API: its path, its texts for the OpenAPI document, its schemas and its handler, which
 * calls a control service.
 */
export interface Operation {
  /** The name in the document: `createKey`. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/control/v1`, with `:name` for ids. */
  readonly path: string
  readonly summary: string
  readonly query?: TSchema
  readonly body?: TSchema
  /** The schema of `data` in the envelope. */
  readonly responseSchema: TSchema
  readonly run: (controlService: ControlService, input: Input<any, any>) => Promise<unknown>
}

interface Declared<Query extends TSchema, Body extends TSchema, Answer extends TSchema> extends Omit<Operation, 'run'> {
  readonly query?: Query
  readonly body?: Body
  readonly responseSchema: Answer
  readonly run: (
    controlService: ControlService,
    input: Input<Static<Query>, Static<Body>>
  ) => Promise<DeepReadonly<Static<Answer>>>
}

/** Declares an operation; a handler that does not match its schemas does not compile. */
export function operation<Query extends TSchema, Body extends TSchema, Answer extends TSchema> (
  declared: Declared<Query, Body, Answer>
): Operation {
  return declared
}

/** 201 for an operation that creates an entity, 200 for all others. */
export function statusOf ({ method, id }: Pick<Operation, 'method' | 'id'>): 200 | 201 {
  return method === 'POST' && /^(create|invite|roll)/.test(id) ? 201 : 200
}
