import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Provider, type ClientAuthMethod, type ClientMetadata } from 'oidc-provider'
import type { Test } from 'tap'

/** A certificate of 127.0.0.1 that is its own authority, and a client's as well. */
export const certificate = {
  cert: readFileSync(new URL('../backends/self-signed.pem', import.meta.url), 'utf8'),
  key: readFileSync(new URL('../backends/self-signed-key.pem', import.meta.url), 'utf8')
}

/** A token request that the server received. */
interface TokenRequest { readonly authorization: string | undefined, readonly parameters: URLSearchParams }

/** A real authorization server in this process, for the grant client_credentials. */
export interface TokenServer {
  readonly tokenUrl: string
  readonly requested: TokenRequest[]
  /** Whether a header `authorization` carries a token that is in force. */
  readonly accepts: (header: string | undefined) => Promise<boolean>
  /** Ends every token that was accepted so far. */
  readonly revokeAll: () => void
  /** Responds in place of the server from now on; undefined: the server again. */
  readonly behave: (instead: ((request: IncomingMessage, response: ServerResponse) => void) | undefined) => void
  readonly stop: () => Promise<void>
}

interface TokenServerOptions {
  readonly secret?: string
  readonly method?: ClientAuthMethod
  /** With the method private_key_jwt. */
  readonly keys?: NonNullable<ClientMetadata['jwks']>
  readonly lifetimeSeconds?: number
  readonly isTls?: boolean
}

const audience = 'https://fhir.example.org'

export async function startTokenServer (
  t: Test,
  {
    secret = 'a secret',
    method = 'client_secret_basic',
    keys,
    lifetimeSeconds = 3_600,
    isTls = method === 'tls_client_auth'
  }: TokenServerOptions = {}
): Promise<TokenServer> {
  const requested: TokenRequest[] = []
  let instead: Parameters<TokenServer['behave']>[0]
  const server = isTls
    ? createHttps({ ...certificate, ca: certificate.cert, requestCert: true, rejectUnauthorized: false })
    : createHttp()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `${isTls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const tokenUrl = `${issuer}/token`
  const accepted = new Set<string>()
  const revoked = new Set<string>()
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'gateway',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        scope: 'system/*.cruds',
        token_endpoint_auth_method: method,
        ...(method.startsWith('client_secret') && { client_secret: secret }),
        ...(keys && { jwks: keys, token_endpoint_auth_signing_alg: keys.keys[0]!.alg as 'RS384' }),
        ...(method === 'tls_client_auth' && { tls_client_auth_san_ip: '127.0.0.1' })
      }
    ],
    clientAuthMethods: [method],
    scopes: ['system/*.cruds'],
    ttl: { ClientCredentials: lifetimeSeconds },
    enabledJWA: { clientAuthSigningAlgValues: ['RS384', 'ES384'] },
    jwks: {
      keys: [generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' }) as never]
    },
    cookies: { keys: ['for tests'] },
    assertJwtClientAuthClaimsAndHeader: async (_, claims) => {
      if (![issuer, tokenUrl].includes(claims.aud as string)) throw new Error('for another server')
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async () => ({
          scope: 'system/*.cruds',
          audience,
          accessTokenTTL: lifetimeSeconds,
          accessTokenFormat: 'opaque'
        })
      },
      mTLS: {
        enabled: true,
        tlsClientAuth: true,
        certificateBoundAccessTokens: false,
        getCertificate: ctx => (ctx.req.socket as TLSSocket).getPeerX509Certificate?.() as never,
        certificateAuthorized: ctx => (ctx.req.socket as TLSSocket).authorized,
        certificateSubjectMatches: (ctx, _, expected) =>
          (ctx.req.socket as TLSSocket).getPeerX509Certificate()!.checkIP(expected) !== undefined
      }
    }
  })
  const handle = provider.callback()
  server.on('request', async (request: IncomingMessage & { body?: unknown }, response: ServerResponse) => {
    let text = ''
    for await (const chunk of request) text += chunk
    requested.push({ authorization: request.headers.authorization, parameters: new URLSearchParams(text) })
    request.body = Object.fromEntries(new URLSearchParams(text))
    if (instead !== undefined) instead(request, response)
    else handle(request, response)
  })
  const stop = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  t.after(stop)
  return {
    tokenUrl,
    requested,
    accepts: async header => {
      const token = /^Bearer (.+)$/.exec(header ?? '')?.[1] ?? 'none'
      const isValid = !revoked.has(token) && (await provider.ClientCredentials.find(token)) !== undefined
      if (isValid) accepted.add(token)
      return isValid
    },
    revokeAll: () => accepted.forEach(token => revoked.add(token)),
    behave: next => {
      instead = next
    },
    stop
  }
}
