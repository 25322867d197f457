import type { Config } from './schema.js'
import { readText } from './secret-file.js'
import type { Environment } from './environment.js'

/**
 * The URL of the control plane's PostgreSQL database, password included: never log it; undefined means SQLite in the
 * data directory.
 */
export function controlDatabaseUrl ({ control }: Config, environment: Environment): string | undefined {
  return secretOf(environment.CONTROL_DATABASE_URL, control.databaseUrlFile)
}

/** The token that a gateway shows to the control plane. */
export function gatewayToken ({ control }: Config, environment: Environment): string | undefined {
  return secretOf(environment.CLINIGATE_GATEWAY_TOKEN, control.gatewayTokenFile)
}

/** The URL of the Redis server that gateways share, password included: never log it. */
export function redisUrl ({ limits }: Config, environment: Environment): string | undefined {
  return secretOf(environment.REDIS_URL, limits.redisUrlFile)
}

/** The secret of the dashboard's client at the OpenID provider; undefined for a public client. */
export function oidcClientSecret ({ dashboard }: Config, environment: Environment): string | undefined {
  return secretOf(environment.OIDC_CLIENT_SECRET, dashboard.oidc?.clientSecretFile)
}

/** The variable wins; an empty one counts as absent. */
function secretOf (variable: string | undefined, file: string | undefined): string | undefined {
  return variable || (file === undefined ? undefined : readText(file))
}
