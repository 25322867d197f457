import { isUtf8 } from 'node:buffer'
import type { Dispatcher } from 'undici'
import type { BackendResponse } from './backend.js'
import { mayHaveEntryIdExtensions, restoreEntryIds } from './entry-ids.js'
import type { RelativeReferences } from './relative-references.js'

type Headers = BackendResponse['headers']

/** An exchange without a complete response. `sent` is false if the server can't have received the request. */
export class TransportError extends Error {
  constructor (readonly why: 'timeout' | 'reset' | 'unreadable', readonly sent: boolean, cause: unknown) {
    super(why, { cause })
    this.name = 'TransportError'
  }
}

/** A response as received. Its text is made at its first use. */
class ReceivedResponse implements BackendResponse {
  readonly status: number
  readonly headers: Headers
  readonly #received: Buffer
  readonly #references: RelativeReferences
  #body: string | undefined
  #bytes: Buffer | undefined

  constructor (
    { status, headers }: Pick<BackendResponse, 'status' | 'headers'>,
    received: Buffer,
    references: RelativeReferences
  ) {
    this.status = status
    this.headers = headers
    this.#received = received
    this.#references = references
  }

  get body (): string {
    return (this.#body ??= restoreEntryIds(this.#references.relativize(this.#received.toString())))
  }

  get bytes (): Buffer {
    const received = this.#received
    const isUnchanged = () =>
      this.#references.hasOnlyRelativeReferences(received) && !mayHaveEntryIdExtensions(received)
    return (this.#bytes ??= isUnchanged() ? received : Buffer.from(this.body))
  }
}

/** How long an exchange may take, and whose references its response has. */
interface ExchangeOptions {
  readonly budgetMs: number
  readonly references: RelativeReferences
}

/**
 * One request and its complete response, within `budgetMs`. It uses undici's dispatch and collects the chunks itself,
 * which takes a fifth less CPU time than a stream per request.
 * @throws {TransportError}
 */
export function exchange (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { budgetMs, references }: ExchangeOptions
): Promise<BackendResponse> {
  return new Promise((resolve, reject) => {
    const collector = new Collector(resolve, reject, references)
    collector.timer = setTimeout(() => collector.expire(), budgetMs)
    dispatcher.dispatch(request, collector)
  })
}

const timeouts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
const unreadable = new Set(['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'UND_ERR_HEADERS_OVERFLOW'])

/** Error codes of undici and the system after which the server can't have received the request. */
const unsent = new Set([
  'CIRCUIT_OPEN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH'
])

/** The {@link TransportError} of an error in a proxied exchange. */
export function toTransportError (error: Error & { readonly code?: string }): TransportError {
  const code = error.code ?? ''
  const why =
    error.name === 'TimeoutError' || timeouts.has(code) ? 'timeout' : unreadable.has(code) ? 'unreadable' : 'reset'
  return new TransportError(why, !unsent.has(code), error)
}

const createTimeoutError = (): Error => new Error('the time limit of this request has passed')

class Collector implements Dispatcher.DispatchHandler {
  timer: NodeJS.Timeout | undefined
  #controller: Dispatcher.DispatchController | undefined
  #expired = false
  #status = 0
  #headers: Headers = {}
  #chunks: Buffer[] = []

  constructor (
    private readonly resolve: (response: BackendResponse) => void,
    private readonly reject: (error: unknown) => void,
    private readonly references: RelativeReferences
  ) {}

  /** Gives up, whether the request was sent or is still waiting for a connection. */
  expire (): void {
    this.#expired = true
    if (this.#controller === undefined) this.#fail('timeout', createTimeoutError())
    else this.#controller.abort(createTimeoutError())
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#expired) controller.abort(createTimeoutError())
  }

  onResponseStart (_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData (_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd (): void {
    clearTimeout(this.timer)
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    if (!isUtf8(bytes)) return this.#fail('unreadable', new Error('the response is not UTF-8'))
    this.resolve(new ReceivedResponse({ status: this.#status, headers: this.#headers }, bytes, this.references))
  }

  onResponseError (_: Dispatcher.DispatchController, error: Error & { code?: string }): void {
    clearTimeout(this.timer)
    if (error.code === 'UND_ERR_INVALID_ARG') this.reject(error)
    else if (this.#expired || timeouts.has(error.code ?? '')) this.#fail('timeout', error)
    else if (unreadable.has(error.code ?? '')) this.#fail('unreadable', error)
    else this.#fail('reset', error)
  }

  #fail (why: TransportError['why'], cause: unknown): void {
    this.reject(new TransportError(why, this.#controller !== undefined, cause))
  }
}
