import type { FastifyBaseLogger } from 'fastify'
import { scatteredBackoff } from '../../backoff.js'
import { Failure } from '../../envelope/failures.js'
import type { Authorization } from './authorization.js'
import { CredentialTrouble, type Credential, type CredentialSource } from './credential-source.js'

export interface RenewedOptions {
  /** Of the datastore. */
  readonly name: string
  readonly source: CredentialSource
  readonly now: () => Date
  readonly log?: Pick<FastifyBaseLogger, 'info' | 'warn'> | undefined
}

/** A credential in force; times in milliseconds by the clock. */
interface Held {
  readonly header: string
  readonly renewAt: number
  readonly endsAt: number
}

/** The longest that a credential is renewed before its end, and that it is no more sent before it: the datastore's clock may be ahead. */
const longestAheadMs = 300_000
const longestMarginMs = 10_000

/** How long the source may take for one credential. */
const patienceMs = 10_000

/** Between a failed try and the next one, doubled each time. */
const pauses = { firstMs: 1_000, longestMs: 60_000 }

/** A datastore that refuses every token must not make a caller of the token server of each request. */
const refusalPauseMs = 10_000

/**
 * An {@link Authorization} whose credential is renewed ahead of its end. One caller asks the source for all, requests meanwhile
 * take the old one as long as it is good, and a source that fails is left alone for a while.
 */
export class RenewedAuthorization implements Authorization {
  readonly #options: RenewedOptions
  readonly #closing = new AbortController()
  #held: Held | undefined
  #renewing: Promise<string> | undefined
  #failures = 0
  #nextTryAt = 0
  #nextRefusalAt = 0
  #trouble: CredentialTrouble | undefined

  constructor (options: RenewedOptions) {
    this.#options = options
  }

  get isFailing (): boolean {
    return this.#trouble !== undefined
  }

  header (): string | Promise<string> {
    const held = this.#held
    const at = this.#now()
    if (held === undefined || at >= held.endsAt) return this.#renewed(at)
    // Nobody waits for it; a failure is told to the log and the health.
    if (at >= held.renewAt) this.#renewed(at).catch(() => {})
    return held.header
  }

  refused (header: string | undefined): boolean {
    if (this.#held?.header !== header) return true
    const at = this.#now()
    if (at < this.#nextRefusalAt) return false
    this.#nextRefusalAt = at + refusalPauseMs
    this.#held = undefined
    return true
  }

  async close (): Promise<void> {
    this.#closing.abort()
    await this.#options.source.close?.()
  }

  #now (): number {
    return this.#options.now().getTime()
  }

  #renewed (at: number): Promise<string> {
    if (this.#renewing === undefined && at < this.#nextTryAt) return Promise.reject(this.#unavailable(at))
    this.#renewing ??= this.#renew().finally(() => { this.#renewing = undefined })
    return this.#renewing
  }

  async #renew (): Promise<string> {
    try {
      const credential = await this.#asked()
      this.#take(credential)
      return credential.header
    } catch (error) {
      this.#fail(error instanceof CredentialTrouble ? error : new CredentialTrouble('the credential could not be renewed'))
      throw this.#unavailable(this.#now())
    }
  }

  /** What the source says, for no longer than there is patience. */
  #asked (): Promise<Credential> {
    return new Promise((resolve, reject) => {
      const giveUp = new AbortController()
      const leave = () => {
        giveUp.abort()
        reject(new CredentialTrouble('the credential was not renewed in time'))
      }
      const timer = setTimeout(leave, patienceMs)
      this.#closing.signal.addEventListener('abort', leave, { once: true })
      if (this.#closing.signal.aborted) leave()
      this.#options.source.next(giveUp.signal).then(resolve, reject).finally(() => {
        clearTimeout(timer)
        this.#closing.signal.removeEventListener('abort', leave)
      })
    })
  }

  #take ({ header, goodForMs, trouble }: Credential): void {
    const at = this.#now()
    this.#held = { header, renewAt: at + goodForMs - Math.min(longestAheadMs, goodForMs / 5), endsAt: at + goodForMs - Math.min(longestMarginMs, goodForMs / 10) }
    this.#failures = 0
    this.#nextTryAt = 0
    this.#tell(trouble)
  }

  #fail (trouble: CredentialTrouble): void {
    const askedMs = Math.max(scatteredBackoff(pauses, this.#failures), (trouble.facts.retryAfterSeconds ?? 0) * 1_000)
    this.#failures++
    this.#nextTryAt = this.#now() + askedMs
    this.#tell(trouble)
  }

  /** Once for each kind of trouble, and once when it is over: a source may fail for days. */
  #tell (trouble: CredentialTrouble | undefined): void {
    const told = this.#trouble
    this.#trouble = trouble
    const { name: datastore, log } = this.#options
    if (trouble === undefined && told !== undefined) log?.info({ datastore }, 'the gateway\'s credential for a datastore can be renewed again')
    if (trouble === undefined || (trouble.reason === told?.reason && trouble.facts.code === told.facts.code)) return
    if (!this.#closing.signal.aborted) log?.warn({ datastore, reason: trouble.reason, ...trouble.facts }, 'the gateway\'s credential for a datastore cannot be renewed')
  }

  #unavailable (at: number): Failure {
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#nextTryAt - at) / 1_000))
    // Not as `status`, which would be taken for one of the datastore.
    const { status: tokenServerStatus, code } = this.#trouble?.facts ?? {}
    const cause = { reason: this.#trouble?.reason, ...code !== undefined && { code }, ...tokenServerStatus !== undefined && { tokenServerStatus } }
    return new Failure('BACKEND_UNAVAILABLE', { retryAfterSeconds, cause })
  }
}
