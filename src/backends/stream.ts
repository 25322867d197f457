import type { Dispatcher } from 'undici'
import { Failure } from '../envelope/failures.js'
import type { BackendRequest, BackendStream, StreamRequest } from './backend.js'
import { brokenExchange } from './exchange.js'
import { brokenFailure, statusFailure } from './trouble.js'

/** A request of a stream in both its forms: as it was asked for, and as it goes out. */
interface Streaming extends Pick<StreamRequest, 'accept' | 'signal'> {
  readonly request: BackendRequest
  readonly rebuilt: Dispatcher.DispatchOptions
}

/** One request and its answer, the body still to come. What is not a success is read to its end, as far as that is not far. */
export async function streamed (dispatcher: Dispatcher, { request, rebuilt, accept, signal }: Streaming): Promise<BackendStream> {
  const { statusCode: status, headers, body } = await dispatcher.request({ ...rebuilt, signal } as Dispatcher.RequestOptions).catch(error => { throw troubleOf(request, error, signal) })
  const failure = statusFailure(request, { status, headers }) ?? formFailure({ status, headers }, accept)
  if (failure === undefined && status === 200) return { status, headers, body: withTrouble(body, request, signal) }
  await body.dump({ limit: longestDumped }).catch(() => {})
  if (failure !== undefined) throw failure
  return { status, headers, body: nothing() }
}

/** What is left of a refusal is read, so that its connection can be used again. */
const longestDumped = 65_536

/** A login page of a server in between comes with the status of a success. */
function formFailure ({ status, headers }: Pick<BackendStream, 'status' | 'headers'>, accept: readonly string[]): Failure | undefined {
  const type = String(headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
  const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity'
  if (status !== 200 || (isPlain && accept.includes(type))) return undefined
  return new Failure('BACKEND_ERROR', { cause: { status, reason: 'the response does not have a requested media type' } })
}

async function * nothing (): AsyncGenerator<Buffer> {}

async function * withTrouble (body: AsyncIterable<Buffer>, request: BackendRequest, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield * body
  } catch (error) {
    throw troubleOf(request, error as Error, signal)
  }
}

function troubleOf (request: BackendRequest, error: Error, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : brokenFailure(request, brokenExchange(error))
}
