import { createPrivateKey, webcrypto } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as oidc from 'openid-client'
import { Agent, fetch } from 'undici'
import type { ClientProof, OAuthCredentials, SigningHash } from '../../config/credentials.js'
import type { ClientCertificate } from '../../config/datastore-connection.js'
import type { Secret } from '../../config/secrets.js'
import { formatBearerHeader } from './authorization.js'
import { CredentialError, toLoggableCode, type Credential, type CredentialSource } from './credential-source.js'

/** The lifetime of a token if the token server does not state it. */
const assumedLifetimeMs = 300_000
const minLifetimeMs = 1_000

/** The largest response of a token server. */
const maxResponseBytes = 1_048_576

/**
 * Access tokens by the client credentials grant (RFC 6749, section 4.4). Secrets and keys in files are read again for
 * each token.
 */
export class ClientCredentials implements CredentialSource {
  readonly #credentials: OAuthCredentials
  readonly #agent: Agent

  constructor (credentials: OAuthCredentials, certificate: ClientCertificate | undefined) {
    const { proof, ca } = credentials
    this.#credentials = credentials
    // Presented to the token server only if it authenticates the client.
    const clientCertificate = proof.method === 'tls_client_auth' ? certificate : undefined
    this.#agent = new Agent({
      connections: 1,
      maxResponseSize: maxResponseBytes,
      connect: { rejectUnauthorized: true, ...clientCertificate, ...(ca !== undefined && { ca }) }
    })
  }

  async fetchCredential (signal: AbortSignal): Promise<Credential> {
    try {
      const configuration = await this.#buildConfiguration(signal)
      const { access_token: token, expires_in: seconds } = await oidc.clientCredentialsGrant(configuration, {
        ...this.#credentials.parameters
      })
      if (!/^[\x21-\x7e]+$/.test(token)) {
        throw new CredentialError('the token server issued a token that is not valid in a header')
      }
      return {
        header: formatBearerHeader(token),
        lifetimeMs: seconds === undefined ? assumedLifetimeMs : Math.max(seconds * 1_000, minLifetimeMs)
      }
    } catch (error) {
      throw toCredentialError(error)
    }
  }

  async close (): Promise<void> {
    await this.#agent.destroy()
  }

  async #buildConfiguration (signal: AbortSignal): Promise<oidc.Configuration> {
    const { tokenUrl, clientId, proof } = this.#credentials
    // Nothing else is known of the server. The audience of assertions is its token endpoint, as in RFC 7523 and SMART
    // App Launch.
    const configuration = new oidc.Configuration(
      { issuer: tokenUrl, token_endpoint: tokenUrl },
      clientId,
      undefined,
      await buildClientAuthentication(proof)
    )
    // The configuration allows http only on loopback.
    if (tokenUrl.startsWith('http:')) oidc.allowInsecureRequests(configuration)
    configuration[oidc.customFetch] = async (url, options) =>
      (await fetch(url, {
        ...options,
        body: options.body as string,
        signal,
        dispatcher: this.#agent
      })) as unknown as Response
    return configuration
  }
}

async function buildClientAuthentication (proof: ClientProof): Promise<oidc.ClientAuth> {
  switch (proof.method) {
    case 'client_secret_basic':
      return oidc.ClientSecretBasic(await readClientSecret(proof.secret))
    case 'client_secret_post':
      return oidc.ClientSecretPost(await readClientSecret(proof.secret))
    case 'private_key_jwt':
      return oidc.PrivateKeyJwt({
        key: await readSigningKey(proof.keyFile, proof.hash),
        ...(proof.keyId !== undefined && { kid: proof.keyId })
      })
    case 'tls_client_auth':
      return oidc.TlsClientAuth()
  }
}

/** The present secret. */
export async function readClientSecret ({ text, file }: Secret): Promise<string> {
  if (file === undefined) return text
  const read = (
    await readFile(file, 'utf8').catch(() => {
      throw new CredentialError('the client secret file cannot be read')
    })
  ).trim()
  if (read === '') throw new CredentialError('the client secret file is empty')
  return read
}

async function readSigningKey (file: string, hash: SigningHash): Promise<oidc.CryptoKey> {
  try {
    const key = createPrivateKey(await readFile(file))
    const curve = curves[key.asymmetricKeyDetails?.namedCurve ?? '']
    const algorithm =
      key.asymmetricKeyType === 'ec' ? { name: 'ECDSA', namedCurve: curve! } : { name: 'RSASSA-PKCS1-v1_5', hash }
    return await webcrypto.subtle.importKey('pkcs8', key.export({ format: 'der', type: 'pkcs8' }), algorithm, false, [
      'sign'
    ])
  } catch {
    throw new CredentialError('the signing key file contains no usable key')
  }
}

/** The WebCrypto names of curves, by their OpenSSL names. */
const curves: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }

/** Retains only the error code, since the description of a server may repeat the request. */
function toCredentialError (error: unknown): CredentialError {
  if (error instanceof CredentialError) return error
  if (error instanceof oidc.ResponseBodyError) {
    return new CredentialError('the token server refused the gateway', {
      code: toLoggableCode(error.error),
      status: error.status,
      retryAfterSeconds: parseRetryAfter(error.response)
    })
  }
  // The library does not read the body if this header is present. RFC 6749, section 5.2, requires it with
  // invalid_client.
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    return new CredentialError('the token server refused the gateway', { code: 'invalid_client', status: error.status })
  }
  const { code, cause } = Object(error) as { code?: unknown, cause?: unknown }
  const response = cause instanceof Object && 'status' in cause ? cause as Response : undefined
  if (response !== undefined) {
    return new CredentialError("the token server's response contains no token", {
      code: toLoggableCode(code),
      status: response.status,
      retryAfterSeconds: parseRetryAfter(response)
    })
  }
  const system = toLoggableCode(Object(cause).code)
  return new CredentialError(
    system === undefined ? "the token server's response is unusable" : 'the token server cannot be reached',
    { code: system ?? toLoggableCode(code) }
  )
}

const maxRetryAfterSeconds = 300

function parseRetryAfter (response: Response): number | undefined {
  const seconds = Number(response.headers?.get('retry-after') ?? NaN)
  return seconds > 0 ? Math.min(seconds, maxRetryAfterSeconds) : undefined
}
