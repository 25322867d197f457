import { DatabaseError } from 'pg'
import { DatabaseUnavailable } from '../control-error.js'

/**
 * Remedies by error code of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html), Node's network
 * or TLS. The first match counts.
 */
const remedies: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /^28|^password missing$/,
    'PostgreSQL rejected the user or password. Check both in CONTROL_DATABASE_URL, and what pg_hba.conf allows.'
  ],
  [
    /^3D000$/,
    'The PostgreSQL server has no such database. Create it, or correct the name at the end of CONTROL_DATABASE_URL.'
  ],
  [
    /^42501$/,
    'The user in CONTROL_DATABASE_URL lacks a permission in the control database. Make it the owner of the database.'
  ],
  [/^53300$/, 'PostgreSQL has no free connections. Raise max_connections, or let fewer processes use it.'],
  [/^53/, 'PostgreSQL has run out of memory or disk space.'],
  [/^57P0[1-3]$/, 'PostgreSQL is starting or stopping. Try again in a moment.'],
  [
    /^57014$|^55P03$|^25P03$|^busy$/,
    'The control database takes too long to answer. Try again, and check what it is busy with.'
  ],
  [/^25006$/, 'This PostgreSQL server is read-only. Set CONTROL_DATABASE_URL to the primary server.'],
  [
    /^no TLS$/,
    'This PostgreSQL server does not support TLS. Turn TLS on there. Use sslmode=disable in CONTROL_DATABASE_URL only within a trusted network.'
  ],
  [
    /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/,
    "The PostgreSQL server's certificate has expired, or is not valid yet. Renew it there, or correct this machine's clock."
  ],
  [
    /CERT|^ERR_TLS|^ERR_SSL|SIGNATURE/,
    "The PostgreSQL server's certificate cannot be verified. In CONTROL_DATABASE_URL, name its certificate authority with sslrootcert=<file>, and use a host that the certificate covers."
  ],
  [/^ENOTFOUND$|^EAI_AGAIN$/, 'The host in CONTROL_DATABASE_URL is unknown. Check its name.'],
  [/^file missing$/, 'A file that CONTROL_DATABASE_URL names, such as sslrootcert, cannot be read.'],
  [/^/, 'PostgreSQL cannot be reached. Check that it is running, and check the host and port in CONTROL_DATABASE_URL.']
]

/** A failed connection, with its remedy. */
export function toDatabaseUnavailable (error: unknown): DatabaseUnavailable {
  if (error instanceof DatabaseUnavailable) return error
  const reason = toReason(error as NodeJS.ErrnoException)
  const [, remedy] = remedies.find(([pattern]) => pattern.test(reason))!
  return new DatabaseUnavailable(`${remedy} (${reason})`)
}

/** The error of a query without the values of the row, which PostgreSQL repeats in it. Safe to log. */
export function toSafeError (error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return toDatabaseUnavailable(error)
  if (/^(08|28|53|57)|^(25006|25P03|42501|55P03)$/.test(error.code ?? '')) return toDatabaseUnavailable(error)
  return Object.assign(error, { detail: undefined, where: undefined, internalQuery: undefined })
}

function toReason ({ code, syscall, message }: NodeJS.ErrnoException): string {
  if (code !== undefined) return syscall === 'open' ? 'file missing' : code
  if (message.includes('does not support SSL')) return 'no TLS'
  if (message.includes('password must be a string')) return 'password missing'
  if (message.startsWith('timeout exceeded') || message === 'Query read timeout') return 'busy'
  return 'connection failed'
}
