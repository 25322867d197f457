import { createSecureContext } from 'node:tls'
import type { DatastoreConfig } from './schema.js'
import { readCredentials, type Credentials } from './credentials.js'
import type { Environment } from './environment.js'
import { isError, readAuthorities, readSecret, readText, explainUnreadable } from './secrets.js'

/** A client's certificate with its key, both in PEM. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
}

/** The parts of a connection to a datastore besides its address, secrets included: pass it on, never log it. */
export interface DatastoreConnection {
  readonly credentials: Credentials
  readonly ca: string | undefined
  readonly certificate: ClientCertificate | undefined
  /** Sent with each request, by names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Reads all files and variables that the settings of a datastore point at, or lists the errors, each beginning with the
 * setting below the datastore.
 */
export function readConnection (
  datastore: DatastoreConfig,
  environment: Environment
): DatastoreConnection | { readonly errors: readonly string[] } {
  const errors: string[] = []
  const credentials = readCredentials(datastore, environment)
  if (isError(credentials)) errors.push(`auth: ${credentials.error}`)
  const tls = readTls(datastore, errors)
  const headers = readHeaders(datastore, environment, errors)
  return errors.length > 0 || isError(credentials) ? { errors } : { credentials, ...tls, headers }
}

function readTls (datastore: DatastoreConfig, errors: string[]): Pick<DatastoreConnection, 'ca' | 'certificate'> {
  const { url, clientCertFile, clientKeyFile } = datastore
  const authorities = readAuthorities(datastore)
  if (isError(authorities)) errors.push(authorities.error)
  const ca = isError(authorities) ? undefined : authorities.ca
  const read = (setting: string, file: string | undefined) => {
    const text = file === undefined ? undefined : readText(file)
    if (file !== undefined && text === undefined) {
      errors.push(`${setting}: the file cannot be read: ${explainUnreadable(file)}`)
    }
    return text
  }
  const [cert, key] = [read('clientCertFile', clientCertFile), read('clientKeyFile', clientKeyFile)]
  if ((clientCertFile === undefined) !== (clientKeyFile === undefined)) {
    errors.push('clientCertFile: clientCertFile and clientKeyFile must be set together')
  }
  if (cert === undefined || key === undefined) return { ca, certificate: undefined }
  if (!url.startsWith('https:')) errors.push('clientCertFile: needs an https URL')
  if (!isPair({ cert, key })) {
    errors.push('clientCertFile: the certificate and the key must match and be in PEM, without a passphrase')
  }
  return { ca, certificate: { cert, key } }
}

function isPair (certificate: ClientCertificate): boolean {
  try {
    createSecureContext(certificate)
    return true
  } catch {
    return false
  }
}

function readHeaders (
  { headers }: DatastoreConfig,
  environment: Environment,
  errors: string[]
): Record<string, string> {
  const read: Record<string, string> = {}
  for (const [name, { value, valueEnv, valueFile }] of Object.entries(headers)) {
    const setting = `headers.${name}`
    const lower = name.toLowerCase()
    const secret =
      value !== undefined && valueEnv === undefined && valueFile === undefined
        ? { text: value }
        : readSecret('value', { variable: valueEnv, file: valueFile }, environment)
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) errors.push(`${setting}: is not a valid header name`)
    else if (isReserved(lower)) {
      errors.push(`${setting}: cannot be configured, because the gateway or the connection sets this header`)
    } else if (Object.hasOwn(read, lower)) errors.push(`${setting}: is set twice`)
    else if (value !== undefined && (valueEnv ?? valueFile) !== undefined) {
      errors.push(`${setting}: needs exactly one of value, valueEnv and valueFile`)
    } else if (isError(secret)) errors.push(`${setting}: ${secret.error}`)
    else read[lower] = secret.text
  }
  return read
}

/**
 * Names of headers that state the client, the target, the content or the operation: the connection's own (RFC 9110,
 * section 7.6.1), those that the gateway sends, and those by which a server performs another operation than the
 * requested one.
 */
function isReserved (name: string): boolean {
  return (
    reserved.has(name) ||
    /^(?:proxy-|content-|accept|if-|x-http-method|x-method|x-forwarded-|forwarded|sec-)/.test(name)
  )
}

const reserved = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'authorization',
  'cookie',
  'range',
  'prefer',
  'cache-control',
  'pragma',
  'x-request-id',
  'traceparent',
  'tracestate',
  'baggage',
  'x-cascade',
  'x-rewrite-history'
])
