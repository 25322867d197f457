import { Failure } from '../envelope/failures.js'
import type { Backend } from './backend.js'
import { decorateBackend } from './decorate.js'

/** One exchange within a trace that continues in the datastore. */
interface TracedExchange {
  /** https://www.w3.org/TR/trace-context/#traceparent-header. Nothing else of the trace is sent. */
  readonly traceparent: string
  /** `code` is that of the failure, if there was one. */
  readonly end: (status?: number, code?: string) => void
}

/** Starts an exchange with a datastore within the current trace. */
export type BeginExchange = (datastore: string, method: string) => TracedExchange

/** The same datastore, with trace context added to each request. */
export function tracedBackend (backend: Backend, begin: BeginExchange): Backend {
  const { name, upstream } = backend
  const traced = async <T extends { readonly status: number }>(
    method: string,
    work: (headers: { readonly traceparent: string }) => Promise<T>
  ): Promise<T> => {
    const { traceparent, end } = begin(name, method)
    try {
      const response = await work({ traceparent })
      end(response.status)
      return response
    } catch (error) {
      end(undefined, error instanceof Failure ? error.code : 'INTERNAL_ERROR')
      throw error
    }
  }
  return decorateBackend(backend, {
    send: request =>
      traced(request.method, headers => backend.send({ ...request, headers: { ...request.headers, ...headers } })),
    stream: request =>
      traced('GET', headers => backend.stream({ ...request, headers: { ...request.headers, ...headers } })),
    upstream: {
      ...upstream,
      request: (options, upstreamResponse) => {
        const { traceparent, end } = begin(name, String(options.method))
        upstream.request(
          { ...options, headers: { ...(options.headers as Record<string, string>), traceparent } },
          (error, response) => {
            end(error === null ? response.statusCode : undefined, error === null ? undefined : 'BACKEND_ERROR')
            upstreamResponse(error, response)
          }
        )
      }
    }
  })
}
