import { CamelCasePlugin, Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { ControlError, DatabaseUnavailable } from '../control-error.js'
import type { Tables } from '../tables.js'
import { migrate, type Engine } from './engine.js'
import { PostgresListener } from './postgres-listener.js'
import { toSafeError, toDatabaseUnavailable } from './unavailable.js'

/** The most connections of one process. By default, PostgreSQL allows 100 for all processes. */
const maxConnections = 10
const connectMs = 5_000
const statementMs = 15_000
/** The client's own limit, since an unreachable server can't enforce its statement timeout. */
const responseTimeoutMs = statementMs + 5_000
/** A process that hangs in a transaction would block the changes of all others. */
const idleInTransactionMs = 10_000

/** Opens an existing database and migrates its tables. */
export async function openPostgres (url: string): Promise<Engine> {
  const settings = toPoolConfig(url)
  await migrateWithoutTimeout(settings)
  const limits = {
    statement_timeout: statementMs,
    query_timeout: responseTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs
  }
  return { db: createKysely({ ...settings, ...limits, max: maxConnections }), changes: new PostgresListener(settings) }
}

/** Has no timeout, since another process may be migrating, and migrating a large table is slow. */
async function migrateWithoutTimeout (settings: pg.PoolConfig): Promise<void> {
  const db = createKysely({ ...settings, max: 1 })
  try {
    await migrate(db)
  } finally {
    await db.destroy()
  }
}

function toPoolConfig (url: string): pg.PoolConfig {
  return {
    // Otherwise PGSSLMODE could switch on TLS without verification. The URL takes precedence over this.
    ssl: false,
    connectionString: toTlsVerifyingUrl(url),
    application_name: 'clinigate',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    types: { getTypeParser }
  }
}

/** Parses 8-byte integers and sums as numbers, which pg would return as text. All of ours are integers below 2^53. */
const getTypeParser: typeof pg.types.getTypeParser = (id: number, format?: any) => {
  const isLongNumber = id === pg.types.builtins.INT8 || id === pg.types.builtins.NUMERIC
  return isLongNumber ? Number : pg.types.getTypeParser(id, format)
}

function createKysely (config: pg.PoolConfig): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: createResilientPool(config) }),
    plugins: [new CamelCasePlugin()]
  })
}

/** A pool that survives the loss of its server, and whose errors are safe to show. */
function createResilientPool (config: pg.PoolConfig): PostgresPool {
  const pool = new pg.Pool(config)
  const ignore = (): void => {}
  // Without a listener, the error of a broken connection ends the process, be it idle or within a transaction. The pool
  // replaces the connection, and the next query shows whether the server is down.
  pool.on('error', ignore)
  pool.on('connect', client => client.on('error', ignore))
  return {
    connect: async () => {
      try {
        return wrapClient(await pool.connect())
      } catch (error) {
        throw toDatabaseUnavailable(error)
      }
    },
    end: () => pool.end()
  }
}

/** A client that sends nothing more after its connection failed or timed out, and is then removed from the pool. */
function wrapClient (client: pg.PoolClient): PostgresPoolClient {
  let failure: Error | undefined
  const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
    if (failure !== undefined) throw failure
    // PostgreSQL can't store it, and would report an error in the query.
    if (values.some(value => typeof value === 'string' && value.includes('\0'))) {
      throw new ControlError('invalid', 'Send text without NUL characters.')
    }
    try {
      return await client.query(text, [...values])
    } catch (error) {
      const safeError = toSafeError(error) as Error
      if (!(error instanceof pg.DatabaseError)) failure = safeError
      throw safeError
    }
  }
  // Kysely's other form, with a cursor, is for streams, which are not used.
  return { query: query as unknown as PostgresPoolClient['query'], release: () => client.release(failure) }
}

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
function toTlsVerifyingUrl (url: string): string {
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
