import { DatabaseUnavailable } from '../database-unavailable.js'

/** What a URL may say of TLS, and what is done: with TLS, the certificate and its host are always verified. */
const modes: Readonly<Record<string, string>> = {
  disable: 'disable',
  require: 'verify-full',
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full'
}

/**
 * The URL of a PostgreSQL database as pg is to be given it: its `sslmode` is one that can be kept.
 * @throws {DatabaseUnavailable} when it asks for TLS that verifies nothing
 */
export function verifyingUrl (url: string): string {
  const parsed = new URL(url)
  const parameters = parsed.searchParams
  const wished = parameters.get('sslmode')
  if (wished === null && !parameters.has('ssl') && !parameters.has('uselibpqcompat')) return url
  const mode = modes[wished ?? '']
  if (mode === undefined || parameters.has('ssl') || parameters.has('uselibpqcompat')) {
    throw new DatabaseUnavailable('In CONTROL_DATABASE_URL, use only sslmode to set whether the connection uses TLS: verify-full, or disable within a trusted network.')
  }
  parameters.set('sslmode', mode)
  return parsed.href
}
