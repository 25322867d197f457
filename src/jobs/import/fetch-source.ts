import { lookup } from 'node:dns/promises'
import { Agent } from 'undici'
import { Failure } from '../../envelope/failures.js'
import { decompress } from './decompress.js'
import { isLoopback, isPublic } from './public-address.js'

/** The hosts that imports may fetch from, and the limits of a source. */
export interface SourceRules {
  /** Host names, with a port where it is not 443. */
  readonly importHosts: readonly string[]
  /** The maximum size of a source in bytes, and the maximum time to fetch it. */
  readonly sourceBytes?: number
  readonly sourceMs?: number
  /** For tests only: a resolver in place of DNS, permission for loopback addresses, and the certificate's CA. */
  readonly trial?: {
    readonly resolve?: (host: string) => Promise<readonly string[]>
    readonly loopback?: boolean
    readonly ca?: string
  }
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
  const agent = agentTo(await addressOf(url.hostname, rules), trial?.ca)
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
    throw error instanceof Failure ? new SourceError(error.message) : error
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

/** One address for the full exchange: a DNS record that changes meanwhile has no effect. */
async function addressOf (host: string, { trial }: SourceRules): Promise<string> {
  const name = host.replace(/^\[(.*)\]$/, '$1')
  const addresses = await (trial?.resolve ?? resolved)(name)
  const isAllowed = (address: string): boolean => isPublic(address) || (trial?.loopback === true && isLoopback(address))
  // If one non-public address among many were allowed, a client could retry until that address comes first.
  if (addresses.length === 0 || !addresses.every(isAllowed)) throw new SourceError('the host has no public address')
  return addresses[0]!
}

async function resolved (host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address)
}

function agentTo (address: string, ca: string | undefined): Agent {
  const family = address.includes(':') ? 6 : 4
  return new Agent({
    connections: 1,
    headersTimeout: quietMs,
    bodyTimeout: quietMs,
    connect: {
      timeout: connectMs,
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
      lookup: (_: string, { all }: { all?: boolean }, found: (error: null, ...result: unknown[]) => void) =>
        all === true ? found(null, [{ address, family }]) : found(null, address, family)
    } as Agent.Options['connect'] & object
  })
}
