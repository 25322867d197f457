import ipaddr from 'ipaddr.js'

/**
 * Whether an address is one of the public Internet: not private, loopback, link-local, unique-local, shared or
 * reserved, be it IPv4, IPv6 or IPv4 in IPv6 (https://www.iana.org/assignments/iana-ipv4-special-registry).
 */
export function isPublic (address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast'
}

/** Whether it is this machine itself. */
export function isLoopback (address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}
