/** Who the gateway is at a datastore, as the header `authorization` says it. */
export interface Authorization {
  /**
   * The header of the next request: at once where it is at hand, so that a request costs no turn of the event loop more.
   * Where it must be waited for and none can be had, it rejects with a Failure BACKEND_UNAVAILABLE.
   */
  header (): string | undefined | Promise<string>
  /** Takes back a header that a datastore answered with 401. @returns whether another one may serve, so that it is worth asking once more */
  refused (header: string | undefined): boolean
  /** Whether the latest try to renew the credential failed, whatever is still sent. */
  readonly isFailing: boolean
  close (): void | Promise<void>
}

/** A header that stays as it is; absent: none is sent. */
export function fixedAuthorization (header?: string): Authorization {
  return { header: () => header, refused: () => false, isFailing: false, close: () => {} }
}

/** RFC 7617, in UTF-8. */
export function basicHeader (user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** RFC 6750, section 2.1. */
export function bearerHeader (token: string): string {
  return `Bearer ${token}`
}
