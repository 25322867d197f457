import type { FastifyBaseLogger } from 'fastify'
import { getJitteredBackoffMs } from '../../time/backoff.js'
import { Failure } from '../../envelope/failures.js'
import type { Authorization } from './authorization.js'
import { CredentialError, type Credential, type CredentialSource } from './credential-source.js'

export interface RenewedOptions {
  /** The name of the datastore. */
  readonly name: string
  readonly source: CredentialSource
  readonly now: () => Date
  readonly log?: Pick<FastifyBaseLogger, 'info' | 'warn'> | undefined
}

/** The current credential. Times are in milliseconds by the clock. */
interface CachedCredential {
  readonly header: string
  readonly renewAt: number
  readonly endsAt: number
}

/**
 * How long before its expiry a credential is renewed, at most. {@link maxMarginMs} before it, it is no longer sent: the
 * datastore's clock may be ahead.
 */
const maxAheadMs = 300_000
const maxMarginMs = 10_000

/** The timeout of the source for one credential. */
const timeoutMs = 10_000

/** The pause after a failed attempt, which doubles each time. */
const pauses = { firstMs: 1_000, maxMs: 60_000 }

/**
 * The pause after a refused token, so that a datastore that refuses every token does not cause a request to the token
 * server each time.
 */
const refusalPauseMs = 10_000

/**
 * An {@link Authorization} that renews its credential before it expires. There is one call to the source at a time for
 * all requests, which use the old credential in the meantime while it is valid. A source that fails is not called again
 * for some time.
 */
export class RefreshingAuthorization implements Authorization {
  readonly #options: RenewedOptions
  readonly #closing = new AbortController()
  #credential: CachedCredential | undefined
  #renewing: Promise<string> | undefined
  #failures = 0
  #nextTryAt = 0
  #nextRefusalAt = 0
  #error: CredentialError | undefined

  constructor (options: RenewedOptions) {
    this.#options = options
  }

  get isFailing (): boolean {
    return this.#error !== undefined
  }

  header (): string | Promise<string> {
    const held = this.#credential
    const at = this.#now()
    if (held === undefined || at >= held.endsAt) return this.#requestRenewal(at)
    // Not awaited. A failure is logged and shown by /health.
    if (at >= held.renewAt) this.#requestRenewal(at).catch(() => {})
    return held.header
  }

  invalidate (header: string | undefined): boolean {
    if (this.#credential?.header !== header) return true
    const at = this.#now()
    if (at < this.#nextRefusalAt) return false
    this.#nextRefusalAt = at + refusalPauseMs
    this.#credential = undefined
    return true
  }

  async close (): Promise<void> {
    this.#closing.abort()
    await this.#options.source.close?.()
  }

  #now (): number {
    return this.#options.now().getTime()
  }

  #requestRenewal (at: number): Promise<string> {
    if (this.#renewing === undefined && at < this.#nextTryAt) return Promise.reject(this.#unavailable(at))
    this.#renewing ??= this.#renew().finally(() => { this.#renewing = undefined })
    return this.#renewing
  }

  async #renew (): Promise<string> {
    try {
      const credential = await this.#fetchCredential()
      this.#setCredential(credential)
      return credential.header
    } catch (error) {
      this.#handleFailure(
        error instanceof CredentialError ? error : new CredentialError('the credential could not be renewed')
      )
      throw this.#unavailable(this.#now())
    }
  }

  /** Calls the source, with a timeout. */
  #fetchCredential (): Promise<Credential> {
    return new Promise((resolve, reject) => {
      const cancellation = new AbortController()
      const abort = () => {
        cancellation.abort()
        reject(new CredentialError('the credential was not renewed in time'))
      }
      const timer = setTimeout(abort, timeoutMs)
      this.#closing.signal.addEventListener('abort', abort, { once: true })
      if (this.#closing.signal.aborted) abort()
      this.#options.source.fetchCredential(cancellation.signal).then(resolve, reject).finally(() => {
        clearTimeout(timer)
        this.#closing.signal.removeEventListener('abort', abort)
      })
    })
  }

  #setCredential ({ header, lifetimeMs, error }: Credential): void {
    const at = this.#now()
    this.#credential = {
      header,
      renewAt: at + lifetimeMs - Math.min(maxAheadMs, lifetimeMs / 5),
      endsAt: at + lifetimeMs - Math.min(maxMarginMs, lifetimeMs / 10)
    }
    this.#failures = 0
    this.#nextTryAt = 0
    this.#report(error)
  }

  #handleFailure (error: CredentialError): void {
    const requestedMs = Math.max(
      getJitteredBackoffMs(pauses, this.#failures),
      (error.facts.retryAfterSeconds ?? 0) * 1_000
    )
    this.#failures++
    this.#nextTryAt = this.#now() + requestedMs
    this.#report(error)
  }

  /** Logs each kind of error once, and once when it is over, since a source may fail for days. */
  #report (error: CredentialError | undefined): void {
    const reported = this.#error
    this.#error = error
    const { name: datastore, log } = this.#options
    if (error === undefined && reported !== undefined) {
      log?.info({ datastore }, "the gateway's credential for a datastore can be renewed again")
    }
    if (error === undefined || (error.reason === reported?.reason && error.facts.code === reported.facts.code)) return
    if (!this.#closing.signal.aborted) {
      log?.warn(
        { datastore, reason: error.reason, ...error.facts },
        "the gateway's credential for a datastore cannot be renewed"
      )
    }
  }

  #unavailable (at: number): Failure {
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#nextTryAt - at) / 1_000))
    // Not named `status`, which would be taken for that of the datastore.
    const { status: tokenServerStatus, code } = this.#error?.facts ?? {}
    const cause = {
      reason: this.#error?.reason,
      ...(code !== undefined && { code }),
      ...(tokenServerStatus !== undefined && { tokenServerStatus })
    }
    return new Failure('BACKEND_UNAVAILABLE', { retryAfterSeconds, cause })
  }
}
