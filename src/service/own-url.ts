import type { Config } from '../config.js'

/** Where clients reach this process. */
export function ownUrl ({ publicUrl, host, port }: Config): string {
  return publicUrl ?? `http://${host}:${port}`
}
