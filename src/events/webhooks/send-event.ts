import { Agent, type Dispatcher } from 'undici'
import { AddressRefused, createCheckedConnector, type AddressRules } from '../../net/checked-connection.js'
import type { Attempt, DueEvent, SubscriptionChannel } from './delivery-queue.js'
import { buildSignatureHeaders } from './signature.js'
import { maxResponseBytes } from './webhook.js'

/** How long a receiver may take for its response. */
const responseMs = 15_000
const connectMs = 10_000
/** How long the start of its body is read, once the status is known. */
const bodyMs = 1_000

/** Where and how the events of one webhook are sent. */
interface Destination {
  readonly url: string
  readonly secrets: readonly string[]
  /** Of a subscription, which gets a FHIR resource without signatures. */
  readonly channel?: SubscriptionChannel
  /** Of the product, for `user-agent`. */
  readonly version: string
  readonly now: () => Date
}

/**
 * The agent for the connections to all receivers, each to an address that is allowed. It has as many as are needed at
 * once, so that webhooks of one host do not wait for each other.
 */
export function createReceiverAgent (rules: AddressRules): Agent {
  return new Agent({
    headersTimeout: responseMs,
    bodyTimeout: responseMs,
    connect: createCheckedConnector(rules, connectMs)
  })
}

/**
 * Sends an event once. Success is a status 2xx within 15 s; redirects are not followed. It does not throw.
 * @param stopping aborts the attempt, which then counts as not made: undefined
 */
export async function sendEvent (
  agent: Dispatcher,
  { event, destination }: { readonly event: DueEvent, readonly destination: Destination },
  stopping: AbortSignal
): Promise<Attempt | undefined> {
  const at = destination.now()
  const begun = performance.now()
  const toAttempt = (rest: Omit<Attempt, 'event' | 'at' | 'durationMs'>): Attempt =>
    ({ event, at: at.toISOString(), durationMs: Math.round(performance.now() - begun), ...rest })
  const timeoutMs = Math.min(destination.channel?.timeoutMs ?? responseMs, responseMs)
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await post(agent, { event, destination, at, signal: AbortSignal.any([stopping, timeout]) })
    return toAttempt(response)
  } catch (error) {
    if (stopping.aborted) return undefined
    return toAttempt({
      outcome: 'failed',
      error: timeout.aborted ? formatTimeout(timeoutMs) : formatConnectionError(error)
    })
  }
}

const formatTimeout = (timeoutMs: number): string => `no response within ${timeoutMs / 1_000} seconds`

interface PostRequest {
  readonly event: DueEvent
  readonly destination: Destination
  readonly at: Date
  readonly signal: AbortSignal
}

async function post (
  agent: Dispatcher, { event: { id, body }, destination, at, signal }: PostRequest
): Promise<Omit<Attempt, 'event' | 'at' | 'durationMs'>> {
  const { url, secrets, channel, version } = destination
  const { origin, pathname, search } = new URL(url)
  const response = await agent.request({
    origin,
    path: pathname + search,
    method: 'POST',
    headers: {
      ...channel === undefined
        ? { 'content-type': 'application/json', ...buildSignatureHeaders({ id, at, body }, secrets) }
        : { ...channel.headers, 'content-type': 'application/fhir+json' },
      'user-agent': `clinigate/${version}`
    },
    body,
    signal
  })
  const { statusCode: responseStatus, headers } = response
  const text = await readStart(response.body)
  if (responseStatus >= 200 && responseStatus < 300) return { outcome: 'delivered', responseStatus }
  const retryAfterMs = readRetryAfter(headers['retry-after'], at)
  return {
    outcome: 'failed',
    responseStatus,
    ...text !== '' && { responseText: text },
    ...retryAfterMs !== undefined && { retryAfterMs }
  }
}

/** The first part of a response. The rest is read if it is short, so that the connection stays usable. */
async function readStart (body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Destroying it causes an error that can be ignored.
  body.on('error', () => {})
  const timeout = setTimeout(() => body.destroy(), bodyMs)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > maxResponseBytes) break
    }
  } catch {
    // The status has arrived, which is what counts.
  }
  clearTimeout(timeout)
  body.destroy()
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, maxResponseBytes)).replace(/\uFFFD+$/, '')
}

/** Seconds, or a date. Undefined for anything else. */
function readRetryAfter (header: string | string[] | undefined, now: Date): number | undefined {
  if (typeof header !== 'string') return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime()
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}

/** For people, without an address: messages of network errors contain one. */
function formatConnectionError (error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  const { code } = error as NodeJS.ErrnoException
  const known = typeof code === 'string' ? reasons[code] : undefined
  return known ?? (typeof code === 'string' && /CERT|TLS|SSL|SELF_SIGNED/.test(code)
    ? `the certificate or TLS failed (${code})`
    : `the connection failed${typeof code === 'string' ? ` (${code})` : ''}`)
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the receiver refused the connection',
  ECONNRESET: 'the receiver closed the connection',
  UND_ERR_SOCKET: 'the receiver closed the connection',
  UND_ERR_CONNECT_TIMEOUT: 'the receiver could not be reached in time',
  UND_ERR_HEADERS_TIMEOUT: formatTimeout(responseMs),
  UND_ERR_BODY_TIMEOUT: formatTimeout(responseMs),
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved'
}
