import fp from 'fastify-plugin'
import { onResponseEnd } from '../net/on-response-end.js'
import type { FairConcurrencyLimiter, Permit } from './concurrency-limiter.js'

/** `concurrency` decides which requests may run. */
interface InFlightOptions { readonly concurrency: Pick<FairConcurrencyLimiter, 'acquire'> }

/**
 * Limits the concurrent requests of an organization, so that those of others do not wait for them. A request retains
 * its permit until the response is complete or, if its client has disconnected, until its work has ended. A request
 * without a permit is refused by the per-minute limit, without counting against it.
 */
export const inFlight = fp<InFlightOptions>(async (app, { concurrency }) => {
  app.decorateRequest('permit')
  app.addHook('onRequest', (request, reply, done) => {
    const permit = new RequestPermit(concurrency.acquire(request.caller))
    request.permit = permit
    onResponseEnd(request, reply, () => permit.close())
    // The client may have disconnected while its key was looked up.
    if (reply.raw.destroyed) permit.close()
    if (permit.isAdmitted === undefined) permit.settle().then(() => done(), done)
    else done()
  })
  app.addHook('onSend', ({ permit }, _, payload, done) => {
    permit?.response()
    done(null, payload)
  })
}, { name: 'in-flight', dependencies: ['authenticate'], fastify: '5.x' })

/** A request's permit among the concurrent requests. */
class RequestPermit {
  /** Undefined while it waits. */
  isAdmitted: boolean | undefined
  readonly #permit: Permit
  #isClosed = false
  #isCompleted = false

  constructor (permit: Permit) {
    this.#permit = permit
    if (typeof permit.isAdmitted === 'boolean') this.isAdmitted = permit.isAdmitted
  }

  /** Resolves when it is decided whether the request has a permit. */
  async settle (): Promise<void> {
    this.isAdmitted ??= await this.#permit.isAdmitted
  }

  /** To be called when the response is complete, or the client has disconnected. */
  close (): void {
    this.#isClosed = true
    if (this.#isCompleted || this.isAdmitted === undefined) this.#permit.leave()
  }

  /** To be called when the work has ended and the response starts. */
  response (): void {
    this.#isCompleted = true
    if (this.#isClosed) this.#permit.leave()
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the hook of {@link inFlight}. */
    permit: RequestPermit | undefined
  }
}
