import { createPrivateKey } from 'node:crypto'
import type { DatastoreConfig } from './schema.js'
import type { Environment } from './environment.js'
import { isError, readAuthorities, readSecret, readText, type ConfigError, type Secret } from './secrets.js'

/** How the gateway authenticates itself at a datastore, secrets included: pass it on, never log it. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic', readonly user: string, readonly password: Secret }
  | { readonly kind: 'bearer', readonly token: Secret }
  | OAuthCredentials
  | EntraCredentials

/** A client of a token server: RFC 6749, section 4.4. */
export interface OAuthCredentials {
  readonly kind: 'oauth2'
  readonly tokenUrl: string
  readonly clientId: string
  readonly proof: ClientProof
  /** Of the token request, besides the grant: scope, resource, audience. */
  readonly parameters: Readonly<Record<string, string>>
  /** Certificate authorities of the token server in PEM, in place of the system's. */
  readonly ca?: string
}

/** How a client shows the token server that it is that client. */
export type ClientProof =
  | { readonly method: 'client_secret_basic' | 'client_secret_post'; readonly secret: Secret }
  | {
    readonly method: 'private_key_jwt'
    readonly keyFile: string
    readonly keyId: string | undefined
    readonly hash: SigningHash
  }
  | { readonly method: 'tls_client_auth' }

export type SigningHash = 'SHA-256' | 'SHA-384' | 'SHA-512'

/** An application or a managed identity of Microsoft Entra ID. */
export interface EntraCredentials {
  readonly kind: 'azure'
  readonly identity: EntraIdentity
  readonly scope: string
  readonly authorityHost: string | undefined
  readonly ca?: string
}

type EntraIdentity =
  | {
    readonly credential: 'client-secret'
    readonly tenantId: string
    readonly clientId: string
    readonly secret: Secret
  }
  | {
    readonly credential: 'certificate'
    readonly tenantId: string
    readonly clientId: string
    readonly certificateFile: string
  }
  | { readonly credential: 'managed-identity'; readonly clientId: string | undefined }
  | {
    readonly credential: 'workload-identity'
    readonly tenantId: string | undefined
    readonly clientId: string | undefined
  }

type Auth = DatastoreConfig['auth']

/** The settings of a datastore that its credentials need. */
type Authenticated = Pick<DatastoreConfig, 'auth' | 'url' | 'clientCertFile'>

/** Reads the secrets that `auth` points at, or returns the error in the settings. */
export function readCredentials (datastore: Authenticated, environment: Environment): Credentials | ConfigError {
  const { auth } = datastore
  const needless = listUnexpectedSettings(auth)
  if (needless.length > 0) {
    return {
      error: `${needless.join(' and ')} ${needless.length === 1 ? 'does' : 'do'} not belong to the type ${auth.type}`
    }
  }
  return readers[auth.type as Credentials['kind']](datastore, environment)
}

const readers: Readonly<
  Record<Credentials['kind'], (datastore: Authenticated, environment: Environment) => Credentials | ConfigError>
> = {
  none: () => ({ kind: 'none' }),

  basic: ({ auth }, environment) => {
    if (auth.username === undefined) return { error: 'basic needs username' }
    if (auth.username.includes(':')) return { error: 'username must not contain a colon' }
    const password = readSecret('password', { variable: auth.passwordEnv, file: auth.passwordFile }, environment)
    return isError(password) ? password : { kind: 'basic', user: auth.username, password }
  },

  bearer: ({ auth }, environment) => {
    const token = readSecret('token', { variable: auth.tokenEnv, file: auth.tokenFile }, environment)
    return isError(token) ? token : { kind: 'bearer', token }
  },

  oauth2: (datastore, environment) => {
    const { tokenUrl, clientId, scope, resource, audience } = datastore.auth
    if (tokenUrl === undefined || clientId === undefined) return { error: 'oauth2 needs tokenUrl and clientId' }
    if (!isProtected(tokenUrl)) {
      return { error: 'tokenUrl must begin with https; otherwise the secret would travel unencrypted' }
    }
    const proof = readProof(datastore, environment)
    const ca = readAuthorities(datastore.auth)
    if (isError(proof)) return proof
    return isError(ca)
      ? ca
      : { kind: 'oauth2', tokenUrl, clientId, proof, parameters: omitUndefined({ scope, resource, audience }), ...ca }
  },

  azure: ({ auth, url }, environment) => {
    const identity = readIdentity(auth, environment)
    const ca = readAuthorities(auth)
    if (isError(identity)) return identity
    if (auth.authorityHost !== undefined && !auth.authorityHost.startsWith('https:')) {
      return { error: 'authorityHost must begin with https' }
    }
    const { scope = `${new URL(url).origin}/.default`, authorityHost } = auth
    return isError(ca) ? ca : { kind: 'azure', identity, scope, authorityHost, ...ca }
  }
}

const settingsOf = {
  none: ['type'],
  basic: ['type', 'username', 'passwordEnv', 'passwordFile'],
  bearer: ['type', 'tokenEnv', 'tokenFile'],
  oauth2: [
    'type',
    'tokenUrl',
    'clientId',
    'clientAuthentication',
    'clientSecretEnv',
    'clientSecretFile',
    'keyFile',
    'keyId',
    'keyHash',
    'scope',
    'resource',
    'audience',
    'caFile'
  ],
  azure: [
    'type',
    'credential',
    'tenantId',
    'clientId',
    'clientSecretEnv',
    'clientSecretFile',
    'certificateFile',
    'authorityHost',
    'scope',
    'caFile'
  ]
} as const satisfies Record<Credentials['kind'], ReadonlyArray<keyof Auth>>

function listUnexpectedSettings (auth: Auth): string[] {
  return Object.keys(auth).filter(
    name => !(settingsOf[auth.type as Credentials['kind']] as readonly string[]).includes(name)
  )
}

function readProof ({ auth, clientCertFile }: Authenticated, environment: Environment): ClientProof | ConfigError {
  const {
    clientAuthentication: method = 'client_secret_basic',
    clientSecretEnv,
    clientSecretFile,
    keyFile,
    keyId,
    keyHash = 'SHA-384'
  } = auth
  const hasSecret = (clientSecretEnv ?? clientSecretFile) !== undefined
  const hasKey = (keyFile ?? keyId ?? auth.keyHash) !== undefined
  if (method === 'private_key_jwt') {
    if (keyFile === undefined || hasSecret) {
      return { error: 'private_key_jwt needs keyFile and does not use a client secret' }
    }
    return isPrivateKey(keyFile)
      ? { method, keyFile, keyId, hash: keyHash as SigningHash }
      : { error: 'keyFile must contain an RSA or EC private key in PEM' }
  }
  if (hasKey) return { error: `keyFile, keyId and keyHash do not belong to ${method}` }
  if (method === 'tls_client_auth') {
    return clientCertFile !== undefined && !hasSecret
      ? { method }
      : { error: "tls_client_auth needs the datastore's clientCertFile and does not use a client secret" }
  }
  const secret = readSecret('clientSecret', { variable: clientSecretEnv, file: clientSecretFile }, environment)
  return isError(secret) ? secret : { method: method as 'client_secret_basic', secret }
}

function readIdentity (auth: Auth, environment: Environment): EntraIdentity | ConfigError {
  const { credential, tenantId, clientId, clientSecretEnv, clientSecretFile, certificateFile } = auth
  const hasSecret = (clientSecretEnv ?? clientSecretFile) !== undefined
  if (credential === undefined) return { error: 'azure needs credential' }
  if (credential !== 'client-secret' && hasSecret) return { error: `a client secret does not belong to ${credential}` }
  if (credential !== 'certificate' && certificateFile !== undefined) {
    return { error: `certificateFile does not belong to ${credential}` }
  }
  if (credential === 'managed-identity') {
    return tenantId === undefined ? { credential, clientId } : { error: 'tenantId does not belong to managed-identity' }
  }
  if (credential === 'workload-identity') return { credential, tenantId, clientId }
  if (tenantId === undefined || clientId === undefined) return { error: `${credential} needs tenantId and clientId` }
  if (credential === 'certificate') {
    const isReadable = certificateFile !== undefined && isPrivateKey(certificateFile)
    return isReadable
      ? { credential, tenantId, clientId, certificateFile }
      : { error: 'certificate needs certificateFile with the certificate and its private key in PEM' }
  }
  const secret = readSecret('clientSecret', { variable: clientSecretEnv, file: clientSecretFile }, environment)
  return isError(secret) ? secret : { credential: 'client-secret', tenantId, clientId, secret }
}

function isPrivateKey (file: string): boolean {
  try {
    return ['rsa', 'ec'].includes(createPrivateKey(readText(file)!).asymmetricKeyType!)
  } catch {
    return false
  }
}

/** By TLS, or within this machine. */
function isProtected (url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return (
    protocol === 'https:' || hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
  )
}

function omitUndefined (texts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined))
}
