import ipaddr from 'ipaddr.js'

/**
 * Whether an address is a public Internet address: not private, loopback, link-local, unique-local, shared or reserved,
 * whether IPv4, IPv6 or IPv4 in IPv6 (https://www.iana.org/assignments/iana-ipv4-special-registry).
 */
export function isPublic (address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast'
}

/** Whether an address is a loopback address. */
export function isLoopback (address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}
