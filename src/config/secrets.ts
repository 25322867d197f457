import type { Config } from '../config.js'
import { readText } from './secret.js'
import type { Environment } from './environment.js'

/** The URL of the control plane's PostgreSQL database, password included: never log it; undefined means SQLite in the data directory. */
export function controlDatabaseUrl ({ control }: Config, environment: Environment): string | undefined {
  return secretOf(environment.CONTROL_DATABASE_URL, control.databaseUrlFile)
}

/** The token that a gateway shows to the control plane. */
export function gatewayToken ({ control }: Config, environment: Environment): string | undefined {
  return secretOf(environment.CLINIGATE_GATEWAY_TOKEN, control.gatewayTokenFile)
}

/** The URL of the Redis server that gateways count on together, password included: never log it. */
export function redisUrl ({ limits }: Config, environment: Environment): string | undefined {
  return secretOf(environment.REDIS_URL, limits.redisUrlFile)
}

/** The secret of the dashboard's client at the OpenID provider; undefined for a public client. */
export function oidcClientSecret ({ dashboard }: Config, environment: Environment): string | undefined {
  return secretOf(environment.OIDC_CLIENT_SECRET, dashboard.oidc?.clientSecretFile)
}

/** What is missing or wrong with them and the settings that they belong to, a sentence each that repeats none. */
export function secretMistakes (config: Config, environment: Environment): string[] {
  const { role, control, dashboard } = config
  const mistakes: string[] = []
  const isGateway = role === 'gateway'
  if (isGateway && control.url === undefined) mistakes.push('control.url (or CONTROL_URL): is required for the role gateway')
  if (isGateway && gatewayToken(config, environment) === undefined) mistakes.push('control.gatewayTokenFile (or CLINIGATE_GATEWAY_TOKEN): is required for the role gateway')
  if (!isGateway && control.url !== undefined) mistakes.push('control.url (or CONTROL_URL): only the role gateway uses a remote control plane')
  const databaseUrl = controlDatabaseUrl(config, environment)
  if (databaseUrl !== undefined && !isPostgresUrl(databaseUrl)) mistakes.push('control.databaseUrlFile (or CONTROL_DATABASE_URL): expected a URL such as postgres://user@host:5432/name')
  if (isGateway && databaseUrl !== undefined) mistakes.push('control.databaseUrlFile (or CONTROL_DATABASE_URL): the role gateway has no control plane database')
  const countsUrl = redisUrl(config, environment)
  if (countsUrl !== undefined && !(URL.canParse(countsUrl) && /^rediss?:\/\//.test(countsUrl))) mistakes.push('limits.redisUrlFile (or REDIS_URL): expected a URL such as redis://host:6379')
  if (!dashboard.localAccounts && dashboard.oidc === undefined) mistakes.push('dashboard.localAccounts: without local accounts, dashboard.oidc is required')
  for (const [setting, file] of Object.entries({ 'control.databaseUrlFile': control.databaseUrlFile, 'control.gatewayTokenFile': control.gatewayTokenFile, 'limits.redisUrlFile': config.limits.redisUrlFile, 'dashboard.oidc.clientSecretFile': dashboard.oidc?.clientSecretFile })) {
    if (file !== undefined && !readText(file)) mistakes.push(`${setting}: the file cannot be read or is empty`)
  }
  return mistakes
}

/** The variable wins; an empty one counts as absent. */
function secretOf (variable: string | undefined, file: string | undefined): string | undefined {
  return variable || (file === undefined ? undefined : readText(file))
}

function isPostgresUrl (text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:\/\//.test(text)
}
