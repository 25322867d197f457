import { X509Certificate, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from './environment.js'
import type { Config } from './schema.js'
import { ensureDirectory, ensureFile } from '../files/ensure.js'
import { describeReadError } from '../files/read-error.js'

/**
 * A secret as it was at the start; where it came from a file, the file may hold a newer one meanwhile. Pass it on,
 * never log it.
 */
export interface Secret {
  readonly text: string
  readonly file?: string
}

/** The error in a setting: a sentence that does not repeat the value. */
export interface ConfigError { readonly error: string }

/** Reads a secret from where `<name>Env` or `<name>File` points, or returns the error. */
export function readSecret (
  name: string,
  { variable, file }: { readonly variable: string | undefined; readonly file: string | undefined },
  environment: Environment
): Secret | ConfigError {
  if ((variable === undefined) === (file === undefined)) return { error: `needs either ${name}Env or ${name}File` }
  const text = variable !== undefined ? environment[variable] : readText(file!)
  if (text === undefined) {
    return {
      error: variable !== undefined
        ? `${name}Env names a variable that is not set`
        : `${name}File cannot be read: ${explainUnreadable(file!)}`
    }
  }
  // Such a character would end the header that carries the secret.
  if (!/^[\x20-\x7e]+$/.test(text)) {
    return { error: `the ${name} is empty or contains a character that is not valid in a header` }
  }
  return { text, ...(file !== undefined && { file }) }
}

/** Why {@link readText} finds nothing in a file. */
export function explainUnreadable (file: string): string {
  try {
    readFileSync(file)
    return 'it changed meanwhile'
  } catch (error) {
    return describeReadError(error)
  }
}

/** The text of a file without the space around it; undefined when it cannot be read. */
export function readText (file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** The certificate authorities, in PEM, in the file that settings name, if they do. */
export function readAuthorities ({ caFile }: { readonly caFile?: string }): { readonly ca?: string } | ConfigError {
  if (caFile === undefined) return {}
  const ca = readText(caFile)
  if (ca === undefined) return { error: `caFile: the file cannot be read: ${explainUnreadable(caFile)}` }
  // Node passes over what is no certificate, and then trusts no authority.
  return holdsCertificate(ca) ? { ca } : { error: 'caFile: the file must hold certificates in PEM' }
}

function holdsCertificate (pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

export function isError (value: object): value is ConfigError {
  return 'error' in value
}

/**
 * The URL of the control plane's PostgreSQL database, password included: never log it; undefined means SQLite in the
 * data directory.
 */
export function readControlDatabaseUrl ({ control }: Config, environment: Environment): string | undefined {
  return readVariableOrFile(environment.CONTROL_DATABASE_URL, control.databaseUrlFile)
}

/** The token that a gateway shows to the control plane. */
export function readGatewayToken ({ control }: Config, environment: Environment): string | undefined {
  return readVariableOrFile(environment.CLINIGATE_GATEWAY_TOKEN, control.gatewayTokenFile)
}

/** The URL of the Redis server that gateways share, password included: never log it. */
export function readRedisUrl ({ limits }: Config, environment: Environment): string | undefined {
  return readVariableOrFile(environment.REDIS_URL, limits.redisUrlFile)
}

/** The secret of the dashboard's client at the OpenID provider; undefined for a public client. */
export function readOidcClientSecret ({ dashboard }: Config, environment: Environment): string | undefined {
  return readVariableOrFile(environment.OIDC_CLIENT_SECRET, dashboard.oidc?.clientSecretFile)
}

/** The variable wins; an empty one counts as absent. */
function readVariableOrFile (variable: string | undefined, file: string | undefined): string | undefined {
  return variable || (file === undefined ? undefined : readText(file))
}

/** The 32 bytes in a file of base64 text; undefined when the file has no such content. */
export function readSecretBytes (file: string): Buffer | undefined {
  return parseSecretBytes(readText(file) ?? '')
}

function parseSecretBytes (text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 32 && bytes.toString('base64') === text ? bytes : undefined
}

/**
 * The secret that seals the cursors: of the configured file, or else of one that is made in the data directory at the
 * first start and that only the gateway's own user may read.
 */
export function ensureCursorSecret ({ cursor, dataDirectory }: Config): Buffer {
  return ensureSecret(dataDirectory, {
    setting: 'cursor.secretFile',
    configured: cursor.secretFile,
    name: 'cursor.secret',
    loss: 'invalidates all page links'
  })
}

/** The key that encrypts the secrets of webhooks, configured or made in the same way. */
export function ensureWebhookKey ({ webhooks, dataDirectory }: Config): Buffer {
  return ensureSecret(dataDirectory, {
    setting: 'webhooks.secretFile',
    configured: webhooks.secretFile,
    name: 'webhooks.secret',
    loss: 'stops all webhooks until their secrets are rolled'
  })
}

/** A setting with the file of a secret, the name of the generated file, and the effect of losing it. */
interface SecretSource {
  readonly setting: string
  readonly configured: string | undefined
  readonly name: string
  readonly loss: string
}

function ensureSecret (dataDirectory: string, { setting, configured, name, loss }: SecretSource): Buffer {
  const file = configured ?? ensureSecretFile(dataDirectory, name)
  const secret = parseSecretBytes(readFileSync(file, 'utf8').trim())
  if (!secret) {
    throw new Error(
      `${configured !== undefined ? setting : `the file ${name} in the data directory`} does not contain 32 bytes in base64${configured !== undefined ? '' : `; restore it, or delete it, which ${loss}`}`
    )
  }
  return secret
}

function ensureSecretFile (dataDirectory: string, name: string): string {
  ensureDirectory(dataDirectory)
  return ensureFile(join(dataDirectory, name), () => randomBytes(32).toString('base64'))
}
