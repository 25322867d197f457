/** The gateway's Authorization header for a datastore. */
export interface Authorization {
  /**
   * The header for the next request. It is not a promise if it is available immediately, which saves a turn of the
   * event loop. Otherwise it is a promise, which rejects with a Failure BACKEND_UNAVAILABLE if no credential can be
   * obtained.
   */
  header (): string | undefined | Promise<string>
  /**
   * Discards a header that a datastore refused with 401. @returns whether another header may work, so that the
   * request is worth repeating
   */
  invalidate (header: string | undefined): boolean
  /** Whether the latest attempt to renew the credential failed, even if an old one is still in use. */
  readonly isFailing: boolean
  close (): void | Promise<void>
}

/** A header that never changes. If undefined, none is sent. */
export function createFixedAuthorization (header?: string): Authorization {
  return { header: () => header, invalidate: () => false, isFailing: false, close: () => {} }
}

/** The header of HTTP Basic authentication (RFC 7617), in UTF-8. */
export function formatBasicHeader (user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** The header of a bearer token (RFC 6750, section 2.1). */
export function formatBearerHeader (token: string): string {
  return `Bearer ${token}`
}
