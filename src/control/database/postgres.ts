import { CamelCasePlugin, Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { ControlRefused } from '../refused.js'
import type { Tables } from '../tables.js'
import { migrate, type Engine } from './engine.js'
import { PostgresListener } from './postgres-listener.js'
import { verifyingUrl } from './postgres-url.js'
import { tellable, unavailable } from './unavailable.js'

/** Of one process. PostgreSQL allows 100 at once, of all processes, unless it is told otherwise. */
const mostConnections = 10
const connectMs = 5_000
const statementMs = 15_000
/** A server that was cut off answers nothing, so its own limit is not enough. */
const answerMs = statementMs + 5_000
/** A process that hangs in a transaction would hold back the changes of all others. */
const idleInTransactionMs = 10_000

/** Opens the database, which must be there, and makes its tables. */
export async function openPostgres (url: string): Promise<Engine> {
  const settings = settingsOf(url)
  await migrateAlone(settings)
  const limits = { statement_timeout: statementMs, query_timeout: answerMs, idle_in_transaction_session_timeout: idleInTransactionMs }
  return { db: kyselyOn({ ...settings, ...limits, max: mostConnections }), changes: new PostgresListener(settings) }
}

/** Without a limit of time, for other processes may be at it, and a large table takes long. */
async function migrateAlone (settings: pg.PoolConfig): Promise<void> {
  const db = kyselyOn({ ...settings, max: 1 })
  try {
    await migrate(db)
  } finally {
    await db.destroy()
  }
}

function settingsOf (url: string): pg.PoolConfig {
  return {
    // Without this, PGSSLMODE might switch on TLS that verifies nothing; the URL wins over it.
    ssl: false,
    connectionString: verifyingUrl(url),
    application_name: 'clinigate',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    types: { getTypeParser }
  }
}

/** All numbers of the tables, their counts and sums are integers below 2^53; pg would give those of 8 bytes and sums as text. */
const getTypeParser: typeof pg.types.getTypeParser = (id: number, format?: any) => {
  const isLongNumber = id === pg.types.builtins.INT8 || id === pg.types.builtins.NUMERIC
  return isLongNumber ? Number : pg.types.getTypeParser(id, format)
}

function kyselyOn (config: pg.PoolConfig): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: steadyPool(config) }), plugins: [new CamelCasePlugin()] })
}

/** A pool that outlives its server, and whose failures can be told. */
function steadyPool (config: pg.PoolConfig): PostgresPool {
  const pool = new pg.Pool(config)
  const ignore = (): void => {}
  // Unheard, the error of a broken connection ends the process: of one that lies idle, and of one in the middle of a
  // transaction. The pool replaces both, and whoever asks next hears whether the server is down.
  pool.on('error', ignore)
  pool.on('connect', client => client.on('error', ignore))
  return {
    connect: async () => {
      try {
        return steadyClient(await pool.connect())
      } catch (error) {
        throw unavailable(error)
      }
    },
    end: () => pool.end()
  }
}

/** A client that asks nothing more after its connection failed or went silent, and then leaves the pool. */
function steadyClient (client: pg.PoolClient): PostgresPoolClient {
  let failure: Error | undefined
  const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
    if (failure !== undefined) throw failure
    // PostgreSQL stores none, and would call it a fault of the query.
    if (values.some(value => typeof value === 'string' && value.includes('\0'))) throw new ControlRefused('invalid', 'Send text without NUL characters.')
    try {
      return await client.query(text, [...values])
    } catch (error) {
      const told = tellable(error) as Error
      if (!(error instanceof pg.DatabaseError)) failure = told
      throw told
    }
  }
  // Kysely's other form, with a cursor, is for streams, which nobody asks for.
  return { query: query as unknown as PostgresPoolClient['query'], release: () => client.release(failure) }
}
