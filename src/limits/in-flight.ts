import fp from 'fastify-plugin'
import type { FairConcurrencyLimiter, Permit } from './concurrency-limiter.js'

/** `places` decides which requests may run. */
interface InFlightOptions { readonly places: Pick<FairConcurrencyLimiter, 'acquire'> }

/**
 * Limits the concurrent requests of an organization, so that those of others do not wait for them. A request keeps its place until
 * the response is complete or, if its client has disconnected, until its work has ended. A request without a place is refused by
 * the per-minute limit, without counting against it.
 */
export const inFlight = fp<InFlightOptions>(async (app, { places }) => {
  app.decorateRequest('place')
  app.addHook('onRequest', (request, { raw }, done) => {
    const place = new Place(places.acquire(request.caller))
    request.place = place
    raw.once('close', () => place.close())
    // The client may have disconnected while its key was looked up.
    if (raw.destroyed) place.close()
    if (place.isAdmitted === undefined) place.settle().then(() => done(), done)
    else done()
  })
  app.addHook('onSend', ({ place }, _, payload, done) => {
    place?.answer()
    done(null, payload)
  })
}, { name: 'in-flight', dependencies: ['authenticate'], fastify: '5.x' })

/** A request's place among the concurrent requests. */
class Place {
  /** Undefined while it waits. */
  isAdmitted: boolean | undefined
  readonly #stay: Permit
  #isClosed = false
  #isAnswered = false

  constructor (stay: Permit) {
    this.#stay = stay
    if (typeof stay.isAdmitted === 'boolean') this.isAdmitted = stay.isAdmitted
  }

  /** Resolves when it is decided whether there is a place. */
  async settle (): Promise<void> {
    this.isAdmitted ??= await this.#stay.isAdmitted
  }

  /** To be called when the response is complete, or the client has disconnected. */
  close (): void {
    this.#isClosed = true
    if (this.#isAnswered || this.isAdmitted === undefined) this.#stay.leave()
  }

  /** To be called when the work has ended and the response starts. */
  answer (): void {
    this.#isAnswered = true
    if (this.#isClosed) this.#stay.leave()
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the hook of {@link inFlight}. */
    place: Place | undefined
  }
}
