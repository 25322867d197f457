import { Agent } from 'undici'
import { Failure } from '../../envelope/failures.js'
import { AddressRefused, checkedConnector, type AddressRules } from '../../net/checked-connection.js'
import { decompress } from './decompress.js'

/** The hosts that imports may fetch from, and the limits of a source. */
export interface SourceRules extends Pick<AddressRules, 'trial'> {
  /** Host names, with a port where it is not 443. */
  readonly importHosts: readonly string[]
  /** The maximum size of a source in bytes, and the maximum time to fetch it. */
  readonly sourceBytes?: number
  readonly sourceMs?: number
}

const defaults = { sourceBytes: 64 * 1024 ** 3, sourceMs: 6 * 3_600_000 }
const connectMs = 10_000
const quietMs = 60_000

/** A source that can't be fetched for a reason that the client has to fix; the message contains no address. */
export class SourceError extends Error {
  constructor (message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'SourceError'
  }
}

/** The URL of a source, if the rules allow fetching it. @throws {SourceError} */
export function sourceUrl (text: string, { importHosts }: SourceRules): URL {
  if (!URL.canParse(text)) throw new SourceError('the URL is not valid')
  const url = new URL(text)
  if (url.protocol !== 'https:') throw new SourceError('the URL must begin with https')
  if (url.username !== '' || url.password !== '') throw new SourceError('the URL must not contain credentials')
  if (!importHosts.some(host => host.toLowerCase() === url.host)) {
    throw new SourceError('the operator has not allowed this host')
  }
  return url
}

/**
 * The content of a source, in chunks. The name is resolved once, and the connection goes to that address; certificates
 * are verified, redirects are not followed.
 * @throws {SourceError} when the source is at fault, and other errors when a retry may help
 */
export async function * fetchSource (text: string, rules: SourceRules, leaving: AbortSignal): AsyncGenerator<Buffer> {
  const url = sourceUrl(text, rules)
  const { sourceBytes = defaults.sourceBytes, sourceMs = defaults.sourceMs, trial } = rules
  const agent = new Agent({
    connections: 1,
    headersTimeout: quietMs,
    bodyTimeout: quietMs,
    connect: checkedConnector({ trial }, connectMs)
  })
  try {
    const signal = AbortSignal.any([leaving, AbortSignal.timeout(sourceMs)])
    const { statusCode, headers, body } = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: {
        accept: 'application/fhir+ndjson, application/x-ndjson, application/ndjson;q=0.9, */*;q=0.1',
        'accept-encoding': 'gzip, identity'
      },
      signal
    })
    requireContent(statusCode)
    let size = 0
    for await (const chunk of decompress(
      body as AsyncIterable<Buffer>,
      String(headers['content-encoding'] ?? 'identity')
    )) {
      size += chunk.length
      if (size > sourceBytes) throw new SourceError('it is too large')
      yield chunk
    }
  } catch (error) {
    throw error instanceof Failure || error instanceof AddressRefused ? new SourceError(error.message) : error
  } finally {
    await agent.destroy()
  }
}

function requireContent (status: number): void {
  if (status === 200) return
  if (status >= 300 && status < 400) throw new SourceError('it redirects to another address; use that address')
  if (status === 429 || status >= 500) throw new Error('the source failed', { cause: { status } })
  throw new SourceError(`it answered with status ${status}`)
}
