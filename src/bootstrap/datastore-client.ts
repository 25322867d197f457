import type { FastifyBaseLogger } from 'fastify'
import type { Authorization } from '../backends/authentication/authorization.js'
import { openAuthorization } from '../backends/authentication/open-authorization.js'
import { HttpBackend } from '../backends/http-backend.js'
import type { DatastoreConfig } from '../config/schema.js'
import { readConnection } from '../config/datastore-connection.js'
import type { Environment } from '../config/environment.js'
import type { Check } from '../http/health.js'

/** The dependencies of a client of a datastore. */
export interface ClientParts {
  readonly environment: Environment
  readonly now: () => Date
  /** Logs credentials that cannot be renewed; a command reports them by the request that fails. */
  readonly log?: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly onAuthorization?: (authorization: Authorization) => void
}

/**
 * A client with its certificates, headers and credentials. @throws {Error} whose message begins with the setting that
 * is wrong
 */
export async function openClient (
  name: string,
  datastore: DatastoreConfig,
  { environment, now, log, onAuthorization }: ClientParts
): Promise<HttpBackend> {
  const connection = readConnection(datastore, environment)
  if ('errors' in connection) throw new Error(connection.errors.map(error => `datastores.${name}.${error}`).join('; '))
  const authorization = await openAuthorization(connection, { name, now, log }).catch((error: Error) => {
    throw new Error(`datastores.${name}.auth: ${error.message}`)
  })
  onAuthorization?.(authorization)
  const { url, auth, caFile, clientCertFile, clientKeyFile, headers: _, ...bounds } = datastore
  const { ca, certificate, headers } = connection
  return new HttpBackend({
    name,
    baseUrl: url,
    authorization,
    headers,
    ...bounds,
    ...(ca !== undefined && { ca }),
    ...(certificate && { certificate })
  })
}

/**
 * Reports a failed renewal while the older credential is still valid, when there is time to react. Names no datastore,
 * since the check is public.
 */
export function createCredentialsCheck (authorizations: readonly Authorization[]): () => Promise<Check> {
  return async () =>
    authorizations.some(({ isFailing }) => isFailing)
      ? {
          status: 'degraded',
          reason: "the gateway's credential for a datastore cannot be renewed; the log says which one"
        }
      : { status: 'ok' }
}
