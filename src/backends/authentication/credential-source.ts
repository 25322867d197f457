/** A header and its lifetime. */
export interface Credential {
  readonly header: string
  /** The lifetime from now on. It is renewed earlier. */
  readonly lifetimeMs: number
  /** Why it is out of date, if it is. */
  readonly error?: CredentialError
}

/** The source of a datastore's credentials: a file, or a token server. */
export interface CredentialSource {
  /** Never called concurrently. @throws {CredentialError} */
  fetchCredential (signal: AbortSignal): Promise<Credential>
  close? (): Promise<void>
}

/** Facts for the log. None is secret. */
interface CredentialErrorDetails {
  /** An error code of the system, OAuth 2.0 or Entra ID. */
  readonly code?: string | undefined
  /** The HTTP status of the token server. */
  readonly status?: number | undefined
  /** The token server's Retry-After. */
  readonly retryAfterSeconds?: number | undefined
}

/**
 * Why there is no new credential. The reason is our own text, since that of servers and libraries may repeat a secret.
 */
export class CredentialError extends Error {
  constructor (readonly reason: string, readonly facts: CredentialErrorDetails = {}) {
    super(reason)
    this.name = 'CredentialError'
  }
}

/** An error code, if it has the usual form and is thus safe to log. */
export function toLoggableCode (code: unknown): string | undefined {
  return typeof code === 'string' && /^[A-Za-z][\w-]{1,63}$/.test(code) ? code : undefined
}
