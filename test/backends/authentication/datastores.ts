import type { Test } from 'tap'
import { openClient } from '../../../src/bootstrap/datastore-client.js'
import { configSchema } from '../../../src/config/schema.js'
import { validateSettings } from '../../../src/config/schema-errors.js'
import type { DatastoreConfig } from '../../../src/config/schema.js'
import type { HttpBackend } from '../../../src/backends/http-backend.js'
import { sendJson, startFaultyServer, type FaultyServer } from '../faulty-server.js'

/**
 * A FHIR server that serves requests that `accepts` accepts and responds 401 to all others, and the gateway's client of
 * it.
 */
export interface Guarded {
  readonly server: FaultyServer
  readonly backend: HttpBackend
  readonly logged: Array<Record<string, unknown>>
  /** How each request ended at the server, in order. */
  readonly statuses: number[]
  readonly isFailing: () => boolean
}

interface GuardedOptions {
  readonly accepts: (header: string | undefined) => boolean | Promise<boolean>
  readonly auth: Readonly<Record<string, unknown>>
  readonly datastore?: Readonly<Record<string, unknown>>
  readonly environment?: Readonly<Record<string, string>>
  readonly now?: () => Date
  readonly tls?: Parameters<typeof startFaultyServer>[0]
}

export async function startGuarded (
  t: Test,
  { accepts, auth, datastore = {}, environment = {}, now = () => new Date(), tls }: GuardedOptions
): Promise<Guarded> {
  const server = await startFaultyServer(tls)
  const statuses: number[] = []
  server.behave(async (response, request) => {
    const status = (await accepts(request.headers.authorization)) ? 200 : 401
    statuses.push(status)
    sendJson(status, status === 200 ? { resourceType: 'Patient', id: '1' } : { resourceType: 'OperationOutcome' })(
      response,
      request
    )
  })
  const logged: Array<Record<string, unknown>> = []
  const log = {
    info: (line: object) => {
      logged.push({ level: 'info', ...line })
    },
    warn: (line: object) => {
      logged.push({ level: 'warn', ...line })
    }
  }
  const failing: Array<{ readonly isFailing: boolean }> = []
  const backend = await openClient(
    'guarded',
    withDefaults({ url: `${server.url}/fhir`, retryPauseMs: undefined, ...datastore, auth }),
    { environment, now, log: log as never, onAuthorization: one => failing.push(one) }
  )
  t.teardown(async () => {
    await backend.close()
    await server.close()
  })
  return { server, backend, logged, statuses, isFailing: () => failing.some(({ isFailing }) => isFailing) }
}

/** With the defaults of the schema. */
function withDefaults (datastore: Record<string, unknown>): DatastoreConfig {
  const settings = { datastores: { guarded: JSON.parse(JSON.stringify(datastore)) } }
  const errors = validateSettings(configSchema, settings)
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return settings.datastores.guarded
}
