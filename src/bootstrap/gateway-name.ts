import { hostname } from 'node:os'
import type { Config } from '../config/schema.js'

/** What people know the gateway of this process by: the machine's name where the configuration has none. */
export function gatewayName ({ gatewayName: name }: Config['control']): string {
  return name ?? (hostname().replace(/[^\w.-]/g, '-').slice(0, 100) || 'gateway')
}
