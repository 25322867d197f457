import type { Dispatcher } from 'undici'
import { Failure } from '../envelope/failures.js'
import type { BackendRequest, BackendStream, StreamRequest } from './backend.js'
import { toTransportError } from './exchange.js'
import { toTransportFailure, checkStatus } from './failures.js'

/** A streaming request in both forms: as the caller made it, and as the backend receives it. */
interface Streaming extends Pick<StreamRequest, 'accept' | 'signal'> {
  readonly request: BackendRequest
  readonly rebuilt: Dispatcher.DispatchOptions
}

/**
 * One request and its response before the body has arrived. The body of an error is read and discarded, if it is short.
 */
export async function sendStream (
  dispatcher: Dispatcher,
  { request, rebuilt, accept, signal }: Streaming
): Promise<BackendStream> {
  const {
    statusCode: status,
    headers,
    body
  } = await dispatcher.request({ ...rebuilt, signal } as Dispatcher.RequestOptions).catch(error => {
    throw toStreamError(request, error, signal)
  })
  const failure = checkStatus(request, { status, headers }) ?? checkMediaType({ status, headers }, accept)
  if (failure === undefined && status === 200) return { status, headers, body: withError(body, request, signal) }
  await body.dump({ limit: maxDumped }).catch(() => {})
  if (failure !== undefined) throw failure
  return { status, headers, body: createEmptyBody() }
}

/** The most bytes of an error body that are read so that the connection can be reused. */
const maxDumped = 65_536

/** The failure of a 200 in another media type, such as the login page of an intermediary. */
function checkMediaType (
  { status, headers }: Pick<BackendStream, 'status' | 'headers'>,
  accept: readonly string[]
): Failure | undefined {
  const type = String(headers['content-type'] ?? '')
    .split(';', 1)[0]!
    .trim()
    .toLowerCase()
  const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity'
  if (status !== 200 || (isPlain && accept.includes(type))) return undefined
  return new Failure('BACKEND_ERROR', {
    cause: { status, reason: 'the response does not have a requested media type' }
  })
}

async function * createEmptyBody (): AsyncGenerator<Buffer> {}

async function * withError (
  body: AsyncIterable<Buffer>,
  request: BackendRequest,
  signal: AbortSignal
): AsyncGenerator<Buffer> {
  try {
    yield * body
  } catch (error) {
    throw toStreamError(request, error as Error, signal)
  }
}

function toStreamError (request: BackendRequest, error: Error, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : toTransportFailure(request, toTransportError(error))
}
