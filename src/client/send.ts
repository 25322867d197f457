import type { Client as FetchClient } from 'openapi-fetch'
import { ClinigateError, errorOf } from './errors.js'
import type { paths } from './openapi.js'
import type { Query } from './query.js'

/** One request of the thin layer; `path` is one of the document's. */
export interface Sent {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly id?: string
  readonly query?: Query
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Resolves with the `data` of the answer. */
export type Send = <T>(sent: Sent) => Promise<T>

/**
 * The transport of the thin layer over the typed one: answers are unwrapped, and whatever goes wrong is a
 * ClinigateError.
 */
export function createSender (http: FetchClient<paths>): Send {
  // Which path it is, and so what it takes, only the resource knows.
  const request = http.request as unknown as (
    method: string,
    path: string,
    init: object
  ) => Promise<{ data?: { data: unknown }; error?: unknown; response: Response }>
  return async <T>({ method, path, id, query = {}, headers = {}, body, signal }: Sent): Promise<T> => {
    if (id !== undefined) requireId(id)
    const init = {
      params: { path: { id }, query },
      headers,
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal })
    }
    const { data, error, response } = await toResponse(() => request(method, path, init))
    if (data !== undefined && response.ok) return data.data as T
    throw errorOf(response, error)
  }
}

/** A path cannot say these: it would be that of another thing. */
function requireId (id: string): void {
  if (id === '' || id === '.' || id === '..') throw new TypeError('expected the id of a record')
}

async function toResponse<T> (request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new ClinigateError('UNEXPECTED_ANSWER', 'The answer is not one of the gateway.', { cause: error })
    }
    throw error
  }
}
