import { DatabaseError } from 'pg'
import { DatabaseUnavailable } from '../database-unavailable.js'

/** By the code of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html), of Node's network or of TLS; the first that fits counts. */
const remedies: ReadonlyArray<readonly [RegExp, string]> = [
  [/^28|^password missing$/, 'PostgreSQL refuses this user or password. Check both in CONTROL_DATABASE_URL, and what its pg_hba.conf allows.'],
  [/^3D000$/, 'The PostgreSQL server has no such database. Create it, or correct the name at the end of CONTROL_DATABASE_URL.'],
  [/^42501$/, 'The user in CONTROL_DATABASE_URL may not do this in the control database. Make it the owner of the database.'],
  [/^53300$/, 'PostgreSQL has no connection left. Raise its max_connections, or let fewer processes use it.'],
  [/^53/, 'PostgreSQL has run out of memory or disk space.'],
  [/^57P0[1-3]$/, 'PostgreSQL is starting or stopping. Try again in a moment.'],
  [/^57014$|^55P03$|^25P03$|^busy$/, 'The control database takes too long to answer. Try again, and look at what it is busy with.'],
  [/^25006$/, 'This PostgreSQL server can only be read. Name the primary one in CONTROL_DATABASE_URL.'],
  [/^no TLS$/, 'This PostgreSQL server speaks no TLS. Switch it on there; only within a network that you trust, use sslmode=disable in CONTROL_DATABASE_URL.'],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, 'The certificate of PostgreSQL has expired, or is not valid yet. Renew it there, or correct the clock of this machine.'],
  [/CERT|^ERR_TLS|^ERR_SSL|SIGNATURE/, 'The certificate of PostgreSQL can\'t be verified. Name its authority in CONTROL_DATABASE_URL with sslrootcert=<file>, and a host that the certificate is for.'],
  [/^ENOTFOUND$|^EAI_AGAIN$/, 'The host in CONTROL_DATABASE_URL isn\'t known. Check its name.'],
  [/^file missing$/, 'A file that CONTROL_DATABASE_URL names, such as sslrootcert, can\'t be read.'],
  [/^/, 'PostgreSQL can\'t be reached. Check that it runs, and the host and port in CONTROL_DATABASE_URL.']
]

/** What is to be done about a failure of the connection. */
export function unavailable (error: unknown): DatabaseUnavailable {
  if (error instanceof DatabaseUnavailable) return error
  const reason = reasonOf(error as NodeJS.ErrnoException)
  const [, remedy] = remedies.find(([pattern]) => pattern.test(reason))!
  return new DatabaseUnavailable(`${remedy} (${reason})`)
}

/** A failure of a query as it may be told and logged: what PostgreSQL repeats of the row that it refused is taken out. */
export function tellable (error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return unavailable(error)
  if (/^(08|28|53|57)|^(25006|25P03|42501|55P03)$/.test(error.code ?? '')) return unavailable(error)
  return Object.assign(error, { detail: undefined, where: undefined, internalQuery: undefined })
}

function reasonOf ({ code, syscall, message }: NodeJS.ErrnoException): string {
  if (code !== undefined) return syscall === 'open' ? 'file missing' : code
  if (message.includes('does not support SSL')) return 'no TLS'
  if (message.includes('password must be a string')) return 'password missing'
  if (message.startsWith('timeout exceeded') || message === 'Query read timeout') return 'busy'
  return 'connection failed'
}
