import { Failure } from '../envelope/failures.js'
import type { Backend } from './backend.js'
import { backendWith } from './backend-with.js'

/** One exchange of a trace that goes on in the datastore. */
interface TracedExchange {
  /** https://www.w3.org/TR/trace-context/#traceparent-header; nothing else of a trace is sent there. */
  readonly traceparent: string
  /** `code` is that of the failure, where there was one. */
  readonly end: (status?: number, code?: string) => void
}

/** Begins an exchange with a datastore as a part of what is being traced. */
export type BeginExchange = (datastore: string, method: string) => TracedExchange

/** The same datastore, which is told of the trace that each request to it belongs to. */
export function tracedBackend (backend: Backend, begin: BeginExchange): Backend {
  const { name, upstream } = backend
  const traced = async <T extends { readonly status: number }>(method: string, work: (headers: { readonly traceparent: string }) => Promise<T>): Promise<T> => {
    const { traceparent, end } = begin(name, method)
    try {
      const answer = await work({ traceparent })
      end(answer.status)
      return answer
    } catch (error) {
      end(undefined, error instanceof Failure ? error.code : 'INTERNAL_ERROR')
      throw error
    }
  }
  return backendWith(backend, {
    send: request => traced(request.method, headers => backend.send({ ...request, headers: { ...request.headers, ...headers } })),
    stream: request => traced('GET', headers => backend.stream({ ...request, headers: { ...request.headers, ...headers } })),
    upstream: {
      ...upstream,
      request: (options, answered) => {
        const { traceparent, end } = begin(name, String(options.method))
        upstream.request({ ...options, headers: { ...options.headers as Record<string, string>, traceparent } }, (error, answer) => {
          end(error === null ? answer.statusCode : undefined, error === null ? undefined : 'BACKEND_ERROR')
          answered(error, answer)
        })
      }
    }
  })
}
