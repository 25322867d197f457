import { lookup } from 'node:dns/promises'
import { Agent } from 'undici'
import { Failure } from '../../envelope/failures.js'
import { decompress } from './decompress.js'
import { isLoopback, isPublic } from './public-address.js'

/** From where imports may fetch, and how much. */
export interface SourceRules {
  /** Names of hosts, with a port where it is not 443. */
  readonly importHosts: readonly string[]
  /** The largest source, in bytes, and the longest time that fetching it may take. */
  readonly sourceBytes?: number
  readonly sourceMs?: number
  /** For tests alone: addresses of a name in place of DNS, this machine as a source, and who signs its certificate. */
  readonly trial?: {
    readonly resolve?: (host: string) => Promise<readonly string[]>
    readonly loopback?: boolean
    readonly ca?: string
  }
}

const defaults = { sourceBytes: 64 * 1024 ** 3, sourceMs: 6 * 3_600_000 }
const connectMs = 10_000
const quietMs = 60_000

/** A source that can't be had, for a reason that is the client's to mend; it names no address. */
export class SourceError extends Error {
  constructor (message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'SourceError'
  }
}

/** The URL of a source as far as it may be fetched at all. @throws {SourceError} */
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
 * The content of a source, in pieces. The name is resolved once, and that address connected to; certificates are
 * verified, redirects are not followed.
 * @throws {SourceError} when the source is at fault, and other errors when trying again may help
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

/** One address for the whole of an exchange: a name that leads elsewhere a moment later changes nothing. */
async function addressOf (host: string, { trial }: SourceRules): Promise<string> {
  const name = host.replace(/^\[(.*)\]$/, '$1')
  const addresses = await (trial?.resolve ?? resolved)(name)
  const isAllowed = (address: string): boolean => isPublic(address) || (trial?.loopback === true && isLoopback(address))
  // One address among many that is not public would be reason enough to try until it comes first.
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
