import { hostname } from 'node:os'
import type { Config } from '../config/schema.js'

/** The name of the gateway of this process: the machine's name where the configuration has none. */
export function gatewayName ({ gatewayName: name }: Config['control']): string {
  return name ?? (hostname().replace(/[^\w.-]/g, '-').slice(0, 100) || 'gateway')
}
