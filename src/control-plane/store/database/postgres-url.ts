import { DatabaseUnavailable } from '../database-unavailable.js'

/** The values of `sslmode` and what they do. With TLS, the certificate and its host name are always verified. */
const modes: Readonly<Record<string, string>> = {
  disable: 'disable',
  require: 'verify-full',
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full'
}

/**
 * The URL of a PostgreSQL database in the form that pg needs, with an `sslmode` that it supports.
 * @throws {DatabaseUnavailable} if it requests TLS without verification
 */
export function verifyingUrl (url: string): string {
  const parsed = new URL(url)
  const parameters = parsed.searchParams
  const requested = parameters.get('sslmode')
  if (requested === null && !parameters.has('ssl') && !parameters.has('uselibpqcompat')) return url
  const mode = modes[requested ?? '']
  if (mode === undefined || parameters.has('ssl') || parameters.has('uselibpqcompat')) {
    throw new DatabaseUnavailable(
      'In CONTROL_DATABASE_URL, use only sslmode to set whether the connection uses TLS: verify-full, or disable within a trusted network.'
    )
  }
  parameters.set('sslmode', mode)
  return parsed.href
}
