import type { Config } from './schema.js'
import { formatSuggestion } from '../envelope/nearest.js'
import { isNetwork } from '../net/checked-connection.js'
import {
  readSecretBytes, readText, readControlDatabaseUrl, readGatewayToken, readRedisUrl, explainUnreadable
} from './secrets.js'
import { readConnection } from './datastore-connection.js'
import type { Environment } from './environment.js'
import type { FormError } from './schema-errors.js'

/**
 * A condition across settings, or on the files and variables that they name. It is checked only where all settings that
 * it reads are valid.
 */
interface Rule {
  readonly reads: readonly string[]
  /** A sentence for each mistake, which begins with the setting and repeats no value. */
  readonly find: (config: Config, environment: Environment) => readonly string[]
}

const rules: readonly Rule[] = [
  { reads: ['cursor.secretFile'], find: checkCursor },
  { reads: ['webhooks.secretFile', 'webhooks.privateNetworks'], find: checkWebhooks },
  { reads: ['auditLog.auditEvents', 'auditLog.file'], find: checkAuditLog },
  { reads: ['role', 'control.url', 'control.gatewayTokenFile', 'bulk.maxConcurrentJobs'], find: checkRole },
  { reads: ['role', 'processes', 'datastores', 'routing', 'bulk.importUrl'], find: checkProcesses },
  { reads: ['role', 'control.databaseUrlFile'], find: checkDatabaseUrl },
  { reads: ['limits.redisUrlFile'], find: checkRedisUrl },
  { reads: ['dashboard.localAccounts', 'dashboard.oidc'], find: checkSignIn },
  createFileRule('control.databaseUrlFile', ({ control }) => control.databaseUrlFile),
  createFileRule('control.gatewayTokenFile', ({ control }) => control.gatewayTokenFile),
  createFileRule('limits.redisUrlFile', ({ limits }) => limits.redisUrlFile),
  createFileRule('dashboard.oidc.clientSecretFile', ({ dashboard }) => dashboard.oidc?.clientSecretFile)
]

/**
 * The violations of rules among the valid settings: an error in one setting hides none in others.
 * @param found the errors of the invalid settings
 */
export function checkCrossFields (config: Config, environment: Environment, found: readonly FormError[]): string[] {
  const hasForm = (setting: string) => !found.some(({ path }) => isWithin(path, setting) || isWithin(setting, path))
  const hasDatastores = !found.some(({ path }) => path === 'datastores')
  return [
    ...(hasDatastores
      ? Object.keys(config.datastores)
        .filter(name => hasForm(`datastores.${name}`))
        .flatMap(name => checkDatastore(name, config, environment))
      : []),
    // A name is present even if its value is invalid.
    ...(hasDatastores && hasForm('routing') ? checkRouting(config) : []),
    ...rules.filter(({ reads }) => reads.every(hasForm)).flatMap(({ find }) => find(config, environment))
  ]
}

const isWithin = (path: string, setting: string): boolean => path === setting || path.startsWith(`${setting}.`)

function checkDatastore (name: string, { datastores }: Config, environment: Environment): string[] {
  const connection = readConnection(datastores[name]!, environment)
  return 'errors' in connection ? connection.errors.map(error => `datastores.${name}.${error}`) : []
}

function checkRouting ({ datastores, routing }: Config): string[] {
  const named: Array<[setting: string, datastore: string]> = [
    ...Object.entries(routing.dedicated).map(([tenant, name]): [string, string] => [
      `routing.dedicated.${tenant}`,
      name
    ])
  ]
  // Without a datastore of their names, `test` and `live` are the sandboxes; any other name must be one that exists.
  if (routing.test !== 'test') named.push(['routing.test', routing.test])
  if (routing.live !== 'live') named.push(['routing.live', routing.live])
  return named
    .filter(([, name]) => !Object.hasOwn(datastores, name))
    .map(([setting, name]) => `${setting}: names no entry in datastores${formatSuggestion(name, Object.keys(datastores))}`)
}

function checkCursor ({ cursor }: Config): string[] {
  return checkSecretFile('cursor.secretFile', cursor.secretFile)
}

function checkWebhooks ({ webhooks: { secretFile, privateNetworks } }: Config): string[] {
  return [
    ...checkSecretFile('webhooks.secretFile', secretFile),
    ...privateNetworks.every(isNetwork) ? [] : ['webhooks.privateNetworks: expected networks such as 10.20.0.0/16']
  ]
}

function checkSecretFile (setting: string, file: string | undefined): string[] {
  if (file === undefined || readSecretBytes(file) !== undefined) return []
  return [readText(file) === undefined
    ? `${setting}: the file cannot be read: ${explainUnreadable(file)}`
    : `${setting}: the file must contain 32 bytes in base64, as openssl rand -base64 32 prints them`]
}

function checkAuditLog ({ auditLog: { file, auditEvents } }: Config): string[] {
  return auditEvents && file === undefined
    ? ['auditLog.auditEvents: AuditEvents are created from the lines of auditLog.file, which is not set']
    : []
}

function checkRole (config: Config, environment: Environment): string[] {
  const { role, control: { url }, bulk } = config
  if (!usesRemoteControlPlane(config)) {
    return url === undefined
      ? []
      : ['control.url (or CONTROL_URL): only the roles gateway and worker use a remote control plane']
  }
  return [
    ...(url === undefined ? [`control.url (or CONTROL_URL): is required for the role ${role}`] : []),
    ...(readGatewayToken(config, environment) === undefined
      ? [`control.gatewayTokenFile (or CLINIGATE_GATEWAY_TOKEN): is required for the role ${role}`]
      : []),
    ...(role === 'worker' && bulk.maxConcurrentJobs === 0 ? ['bulk.maxConcurrentJobs: with 0 the role worker would do nothing'] : [])
  ]
}

/** The settings that several processes cannot have together. */
function checkProcesses ({ role, processes, datastores, routing: { test, live }, bulk }: Config): string[] {
  if (processes === 1) return []
  return [
    ...(role === 'all' || role === 'gateway'
      ? []
      : [`processes (or CLINIGATE_PROCESSES): the role ${role} has one process`]),
    ...([test, live].every(name => Object.hasOwn(datastores, name))
      ? []
      : ['processes (or CLINIGATE_PROCESSES): the embedded sandbox serves one process; set FHIR_TEST_URL and FHIR_LIVE_URL']),
    ...(bulk.importUrl === undefined
      ? []
      : ['processes (or CLINIGATE_PROCESSES): a datastore that fetches from bulk.importUrl must reach one process; leave one of the two out'])
  ]
}

/** Whether the control plane runs in another process. */
const usesRemoteControlPlane = ({ role }: Config): boolean => role === 'gateway' || role === 'worker'

function checkDatabaseUrl (config: Config, environment: Environment): string[] {
  const url = readControlDatabaseUrl(config, environment)
  if (url === undefined) return []
  return [
    ...(isUrl(url, /^postgres(ql)?:\/\//)
      ? []
      : ['control.databaseUrlFile (or CONTROL_DATABASE_URL): expected a URL such as postgres://user@host:5432/name']),
    ...(usesRemoteControlPlane(config)
      ? [`control.databaseUrlFile (or CONTROL_DATABASE_URL): the role ${config.role} has no control plane database`]
      : [])
  ]
}

function checkRedisUrl (config: Config, environment: Environment): string[] {
  const url = readRedisUrl(config, environment)
  return url === undefined || isUrl(url, /^rediss?:\/\//)
    ? []
    : ['limits.redisUrlFile (or REDIS_URL): expected a URL such as redis://host:6379']
}

function checkSignIn ({ dashboard }: Config): string[] {
  return !dashboard.localAccounts && dashboard.oidc === undefined
    ? ['dashboard.localAccounts: without local accounts, dashboard.oidc is required']
    : []
}

function createFileRule (setting: string, getFile: (config: Config) => string | undefined): Rule {
  return {
    reads: [setting],
    find: config => {
      const file = getFile(config)
      const text = file === undefined ? '' : readText(file)
      if (file === undefined || text) return []
      return [`${setting}: the file ${text === '' ? 'is empty' : `cannot be read: ${explainUnreadable(file)}`}`]
    }
  }
}

const isUrl = (text: string, scheme: RegExp): boolean => URL.canParse(text) && scheme.test(text)
