import { Pool, type Dispatcher } from 'undici'
import type { Jobs } from '../../jobs/model/jobs.js'
import type { Batch, ChangeFeed, Position } from '../../keys/change-feed.js'
import { printBatch } from '../outbox/batch.js'
import { parseEventStream } from './event-stream.js'
import { ControlPlaneError, type ControlPlaneClient } from './link.js'
import { readBatch, readEvents, readLatest, readReceipt } from './messages.js'
import { createRemoteJobs } from './remote-jobs.js'
import type { Receivers } from './receiver-messages.js'
import { createRemoteReceivers } from './remote-receivers.js'

/** The address of the control plane, and timeouts. */
export interface RemoteLinkOptions {
  /**
   * http or https, with or without a path, without credentials, query and fragment. The certificate is always
   * verified.
   */
  readonly url: string
  readonly token: string
  readonly connectTimeoutMs?: number
  /** From the end of a request to the response headers. */
  readonly responseTimeoutMs?: number
  /** A feed without a batch for this long counts as dead: three times the interval of heartbeats. */
  readonly silenceMs?: number
}

const defaults = { connectTimeoutMs: 5_000, responseTimeoutMs: 10_000, silenceMs: 15_000 }

/**
 * The link to a control plane in another process, over HTTP. Every response is checked. Errors never contain the token.
 */
export function createRemoteLink (options: RemoteLinkOptions): ControlPlaneClient {
  return new RemoteLink({ ...defaults, ...options })
}

class RemoteLink implements ControlPlaneClient {
  readonly feed: ChangeFeed = { follow: (from, signal) => this.#follow(from, signal) }
  readonly #options: RemoteLinkOptions & typeof defaults
  readonly #path: string
  readonly #pool: Pool

  constructor (options: RemoteLinkOptions & typeof defaults) {
    const { origin, pathname } = new URL(options.url)
    this.#options = options
    this.#path = `${pathname.replace(/\/+$/, '')}/control/v1/link`
    this.#pool = new Pool(origin, {
      headersTimeout: options.responseTimeoutMs,
      bodyTimeout: options.silenceMs,
      // Set explicitly, since an environment variable could otherwise switch it off.
      connect: { timeout: options.connectTimeoutMs, rejectUnauthorized: true }
    })
  }

  readonly report: ControlPlaneClient['report'] = async (report, stopping) => {
    await this.#post('/report', report, { signal: stopping })
  }

  readonly sendUsage: ControlPlaneClient['sendUsage'] = async (batch, signal) =>
    readReceipt(await this.#post('/usage', batch, { signal }))

  readonly sendEvents: ControlPlaneClient['sendEvents'] = async (batch, signal) =>
    readReceipt(await this.#post('/events', printBatch(batch), { signal }))

  readonly events: ControlPlaneClient['events'] = {
    list: async query => readEvents(await this.#post('/events/list', query)),
    getLatestSequence: async () => readLatest(await this.#post('/events/latest', {}))
  }

  readonly jobs: Jobs = createRemoteJobs((path, content) => this.#post(path, content, { max: maxJobs }))

  readonly #receivers = createRemoteReceivers((path, content) => this.#post(path, content, { max: maxReceivers }))

  readonly webhooks: Receivers['webhooks'] = this.#receivers.webhooks

  readonly subscriptions: Receivers['subscriptions'] = this.#receivers.subscriptions

  readonly close = (): Promise<void> => this.#pool.destroy()

  async * #follow ({ feedId, seq }: Position, signal: AbortSignal): AsyncGenerator<Batch> {
    const query = new URLSearchParams({ feedId, seq: String(seq) })
    const { silenceMs } = this.#options
    // No timeout on bytes: only batches are a sign of life, and they are awaited below.
    const body = await this.#send({ method: 'GET', path: `/feed?${query}`, signal, bodyTimeout: 0 })
    const silence = setTimeout(() => body.destroy(feedTimedOut()), silenceMs)
    try {
      let lastEventAt = performance.now()
      for await (const message of parseEventStream(body)) {
        // After a suspended process resumes, old messages are waiting and timers are late.
        if (performance.now() - lastEventAt > silenceMs) throw feedTimedOut()
        yield readBatch(message)
        silence.refresh()
        lastEventAt = performance.now()
      }
    } finally {
      clearTimeout(silence)
      body.destroy()
    }
  }

  async #post (
    path: string,
    content: object | string,
    { signal, max = maxResponseBytes }: { readonly signal?: AbortSignal; readonly max?: number } = {}
  ): Promise<string> {
    const body = await this.#send({ method: 'POST', path, body: typeof content === 'string' ? content : JSON.stringify(content), signal })
    let text = ''
    for await (const chunk of body.setEncoding('utf8')) {
      text += chunk
      if (text.length > max) throw new ControlPlaneError("the control plane's response is too long")
    }
    return text
  }

  async #send ({
    path,
    ...request
  }: Pick<Dispatcher.RequestOptions, 'method' | 'path' | 'body' | 'signal' | 'bodyTimeout'>): Promise<
    Dispatcher.ResponseData['body']
  > {
    const { statusCode, body } = await this.#pool
      .request({ ...request, path: this.#path + path, headers: this.#buildHeaders(request.method) })
      .catch((error: unknown) => {
        throw toControlPlaneError(error)
      })
    // Destroying it causes an error that can be ignored.
    body.on('error', () => {})
    if (statusCode === 200) return body
    body.destroy()
    throw new ControlPlaneError(refusals[statusCode] ?? `the control plane answered with ${statusCode}`)
  }

  #buildHeaders (method: Dispatcher.HttpMethod): Record<string, string> {
    const authorization = `Bearer ${this.#options.token}`
    return method === 'GET'
      ? { authorization, accept: 'text/event-stream' }
      : { authorization, 'content-type': 'application/json' }
  }
}

/** The largest receipt: some hundred characters for each line of a batch. */
const maxResponseBytes = 1_000_000

/** The largest response about jobs: a page of a hundred, each with its errors and files. */
const maxJobs = 16_777_216

/** A hundred subscriptions, each as long as it may be, have about 1 MB. */
const maxReceivers = 4_194_304

const feedTimedOut = () => new ControlPlaneError('the control plane was silent for too long; reconnecting')

/** The error that names the setting, or the error itself where a request was aborted. */
function toControlPlaneError (error: unknown): unknown {
  const { code, name } = error as NodeJS.ErrnoException
  if (code === undefined || name === 'AbortError') return error
  const message = `the control plane does not respond (${code}); check CONTROL_URL or control.url, and that it is running`
  return new ControlPlaneError(message, { cause: error })
}

const refused =
  "the control plane rejected this gateway's token; create one there and set CLINIGATE_GATEWAY_TOKEN or control.gatewayTokenFile"

const refusals: Readonly<Record<number, string>> = {
  401: `${refused} (401)`,
  403: `${refused} (403)`,
  404: 'no control plane of this version was found at this address (404); check control.url'
}
