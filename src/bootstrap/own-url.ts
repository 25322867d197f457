import { isIPv6 } from 'node:net'
import type { Config } from '../config/schema.js'

/** Where clients reach this process. */
export function ownUrl ({ publicUrl, host, port }: Config): string {
  return publicUrl ?? `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}
