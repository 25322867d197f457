import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { buildConnector, type Agent } from 'undici'

/**
 * Whether an address is a public Internet address: not private, loopback, link-local, unique-local, shared or reserved,
 * whether IPv4, IPv6 or IPv4 in IPv6 (https://www.iana.org/assignments/iana-ipv4-special-registry).
 */
export function isPublic (address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast'
}

/** Whether an address is a loopback address. */
function isLoopback (address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

/** Which addresses may be connected to: public ones, and those that the operator lists. */
export interface AddressRules {
  /** Networks such as `10.1.0.0/16` that may be reached although they are not public. */
  readonly privateNetworks?: readonly string[]
  /** For tests only: a resolver in place of DNS, permission for loopback addresses, and the certificate's CA. */
  readonly trial?: {
    readonly resolve?: (host: string) => Promise<readonly string[]>
    readonly loopback?: boolean
    readonly ca?: string
  }
}

/** A connection that was refused, since its host has an address that {@link AddressRules} do not allow. */
export class AddressRefused extends Error {
  constructor () {
    super('the host has no public address')
    this.name = 'AddressRefused'
  }
}

/** Whether a text is a network such as `10.1.0.0/16`. */
export const isNetwork = (text: string): boolean => ipaddr.isValidCIDR(text)

/**
 * The connector of an agent to hosts that clients name. Every new connection resolves the name and goes to an address
 * of that response, so that a DNS record that changes later has no effect; certificates are verified. A connection that
 * the rules do not allow fails with {@link AddressRefused}.
 */
export function createCheckedConnector (rules: AddressRules, timeoutMs: number): Agent.Options['connect'] {
  const { ca } = rules.trial ?? {}
  const connect = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    lookup: (host: string, { all }: { all?: boolean }, found: (error: Error | null, ...result: unknown[]) => void) => {
      resolveAllowed(host, rules).then(
        ([address]) => {
          const family = isIP(address!)
          return all === true ? found(null, [{ address, family }]) : found(null, address, family)
        },
        (error: Error) => found(error)
      )
    }
  } as buildConnector.BuildOptions)
  return (options, callback) => {
    // Node does not look up a host that is an address already.
    if (!isAllowedHost(options.hostname, rules)) return callback(new AddressRefused(), null)
    return connect(options, callback)
  }
}

/**
 * Whether connections to the host name of a URL may be allowed: not if it is an address that the rules do not allow, or
 * names this machine. The addresses of other names are known only when a connection resolves them.
 */
export function isAllowedHost (hostname: string, rules: AddressRules): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0) return isAllowed(host, rules)
  return !localName.test(host) || loopbackAddresses.some(address => isAllowed(address, rules))
}

/** The names of this machine in every resolver (RFC 6761). */
const localName = /(?:^|\.)localhost\.?$/i
const loopbackAddresses = ['127.0.0.1', '::1']

/** The addresses of a host, all of them allowed. */
async function resolveAllowed (host: string, rules: AddressRules): Promise<readonly string[]> {
  const addresses = await (rules.trial?.resolve ?? resolve)(host)
  // If one address among many were enough, a client could retry until another one comes first.
  if (addresses.length === 0 || !addresses.every(address => isAllowed(address, rules))) throw new AddressRefused()
  return addresses
}

function isAllowed (address: string, { privateNetworks = [], trial }: AddressRules): boolean {
  return isPublic(address) ||
    (trial?.loopback === true && isLoopback(address)) ||
    privateNetworks.some(network => isInNetwork(address, network))
}

function isInNetwork (address: string, network: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  const [base, bits] = ipaddr.parseCIDR(network)
  return parsed.kind() === base.kind() && parsed.match(base, bits)
}

async function resolve (host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address)
}
