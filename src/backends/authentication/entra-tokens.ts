import type { TokenCredential } from '@azure/identity'
import type { EntraCredentials } from '../../config/credentials.js'
import { formatBearerHeader } from './authorization.js'
import { readClientSecret } from './client-credentials.js'
import { CredentialError, toLoggableCode, type Credential, type CredentialSource } from './credential-source.js'

/** The Azure library, an optional dependency. */
type Library = typeof import('@azure/identity')

const loadLibrary = async (): Promise<Library> => await import('@azure/identity')

/** The library's own retries. The gateway retries as well, with longer pauses. */
const retryOptions = { maxRetries: 1 }

/**
 * Access tokens of Microsoft Entra ID.
 * @throws {Error} at startup, if the library is not installed
 */
export async function openEntra (
  credentials: EntraCredentials,
  now: () => Date,
  load: () => Promise<Library> = loadLibrary
): Promise<CredentialSource> {
  try {
    return new EntraTokens(credentials, now, await load())
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error(
      'the type azure needs the package @azure/identity, which is not installed; run npm install @azure/identity'
    )
  }
}

class EntraTokens implements CredentialSource {
  constructor (
    private readonly credentials: EntraCredentials,
    private readonly now: () => Date,
    private readonly library: Library
  ) {}

  async fetchCredential (signal: AbortSignal): Promise<Credential> {
    try {
      // A new instance each time: its cache would return a refused token again, and retain a replaced secret.
      const credential = await createCredential(this.library, this.credentials)
      const { token, expiresOnTimestamp } = (await credential.getToken(this.credentials.scope, {
        abortSignal: signal
      }))!
      return {
        header: formatBearerHeader(token),
        lifetimeMs: Math.max(expiresOnTimestamp - this.now().getTime(), 1_000)
      }
    } catch (error) {
      throw toCredentialError(error)
    }
  }
}

async function createCredential (
  library: Library,
  { identity, authorityHost, ca }: EntraCredentials
): Promise<TokenCredential> {
  const options = {
    retryOptions,
    ...(authorityHost !== undefined && { authorityHost, disableInstanceDiscovery: !isMicrosoftHost(authorityHost) }),
    ...(ca !== undefined && { tlsOptions: { ca } })
  }
  switch (identity.credential) {
    case 'client-secret':
      return new library.ClientSecretCredential(
        identity.tenantId,
        identity.clientId,
        await readClientSecret(identity.secret),
        options
      )
    case 'certificate':
      return new library.ClientCertificateCredential(
        identity.tenantId,
        identity.clientId,
        identity.certificateFile,
        options
      )
    case 'managed-identity':
      return new library.ManagedIdentityCredential({
        ...(identity.clientId !== undefined && { clientId: identity.clientId }),
        ...options
      })
    case 'workload-identity':
      return new library.WorkloadIdentityCredential({
        ...(identity.tenantId !== undefined && { tenantId: identity.tenantId }),
        ...(identity.clientId !== undefined && { clientId: identity.clientId }),
        ...options
      })
  }
}

/**
 * Whether an authority is one of Microsoft's. Any other is unknown to the public cloud, which the library would query
 * about it.
 */
function isMicrosoftHost (authorityHost: string): boolean {
  return /^https:\/\/login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn|chinacloudapi\.cn)\/?$/.test(
    authorityHost
  )
}

/** Retains only the error code, since messages of Entra ID repeat the ids of the directory and the application. */
function toCredentialError (error: unknown): CredentialError {
  if (error instanceof CredentialError) return error
  const {
    name,
    message = '',
    statusCode,
    errorResponse,
    code
  } = Object(error) as {
    name?: string
    message?: string
    statusCode?: number
    errorResponse?: { error?: string }
    code?: unknown
  }
  const entraCode = /\bAADSTS\d{4,8}\b/.exec(String(message))?.[0]
  const facts = {
    code: entraCode ?? toLoggableCode(errorResponse?.error) ?? toLoggableCode(code),
    ...(typeof statusCode === 'number' && { status: statusCode })
  }
  if (name === 'CredentialUnavailableError') {
    return new CredentialError('this machine has no such Entra ID identity', facts)
  }
  return new CredentialError('Entra ID issued no token', facts)
}
